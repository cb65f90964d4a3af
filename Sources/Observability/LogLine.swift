internal import Platform

/// Builds one line of a log. It has one line feed, at its end, whatever its values hold.
struct LogLine {
  private let format: Log.Format
  private var bytes: [UInt8] = []

  init(format: Log.Format, time: Timestamp, level: Log.Level, message: String) {
    self.format = format
    bytes.reserveCapacity(160)
    switch format {
    case .text:
      bytes += "\(time) ".utf8
      bytes += level.rawValue.utf8
      bytes.append(
        contentsOf: repeatElement(UInt8(ascii: " "), count: 8 - level.rawValue.utf8.count))
      escape(message, alsoQuotes: false)
    case .json:
      bytes += "{\"time\":\"\(time)\",\"level\":\"\(level.rawValue)\",\"message\":".utf8
      quote(message)
    }
  }

  mutating func append(_ name: StaticString, _ value: LogScalar) {
    switch format {
    case .text:
      bytes.append(UInt8(ascii: " "))
      bytes += "\(name)=".utf8
      if case .text(let text) = value, !Self.isBare(text) {
        quote(text)
      } else {
        appendBare(value)
      }
    case .json:
      bytes += ",\"\(name)\":".utf8
      if case .text(let text) = value { quote(text) } else { appendBare(value) }
    }
  }

  consuming func finished() -> [UInt8] {
    if format == .json { bytes.append(UInt8(ascii: "}")) }
    bytes.append(UInt8(ascii: "\n"))
    return bytes
  }

  private mutating func appendBare(_ value: LogScalar) {
    switch value {
    case .text(let text): bytes += text.utf8
    case .integer(let number): bytes += String(number).utf8
    case .number(let number) where number.isFinite: bytes += String(number).utf8
    // JSON has no NaN and no infinity.
    case .number: bytes += "null".utf8
    case .boolean(let flag): bytes += (flag ? "true" : "false").utf8
    }
  }

  private mutating func quote(_ text: String) {
    bytes.append(UInt8(ascii: "\""))
    escape(text, alsoQuotes: true)
    bytes.append(UInt8(ascii: "\""))
  }

  /// Adds text, and escapes everything that a terminal or a reader of lines could take for more than text: controls,
  /// separators, and invisible characters that change the direction.
  private mutating func escape(_ text: String, alsoQuotes: Bool) {
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"" where alsoQuotes, "\\" where alsoQuotes:
        bytes.append(UInt8(ascii: "\\"))
        bytes.append(UInt8(truncatingIfNeeded: scalar.value))
      case " "..."~":
        bytes.append(UInt8(truncatingIfNeeded: scalar.value))
      default:
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned:
          for unit in UTF16.encode(scalar) ?? UTF16.encodedReplacementCharacter {
            bytes += "\\u".utf8
            for shift in [12, 8, 4, 0] as [UInt16] {
              bytes.append(Self.hexadecimal[Int(unit >> shift & 0xf)])
            }
          }
        default:
          bytes += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
        }
      }
    }
  }

  private static let hexadecimal = Array("0123456789abcdef".utf8)

  private static func isBare(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { bareBytes[Int($0)] }
  }

  /// True for the bytes that need no quotes.
  private static let bareBytes: [Bool] = {
    let bare = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-./:_@+%{}[]".utf8
    return (UInt8.min...UInt8.max).map(bare.contains)
  }()
}
