internal import Formats
internal import Platform

/// One line of a log. It has one line feed, at its end, whatever its values hold.
struct LogLine {
  let time: Timestamp
  let level: Log.Level
  let message: String
  var fields: [(name: StaticString, value: LogScalar)] = []

  /// The line in a format, with a line feed.
  func bytes(in format: Log.Format) -> [UInt8] {
    let line =
      switch format {
      case .text: text
      case .json: json
      }
    return Array("\(line)\n".utf8)
  }

  private var text: String {
    let name = level.rawValue
    let padding = String(repeating: " ", count: 8 - name.count)
    let pairs = fields.map { " \($0.name)=\(Self.text(of: $0.value))" }
    return "\(time) \(name)\(padding)\(message.escapingInvisible)\(pairs.joined())"
  }

  private static func text(of value: LogScalar) -> String {
    if case .text(let text) = value, text.isBare { return text }
    return String(decoding: value.json, as: UTF8.self)
  }

  private var json: String {
    JSONWriter.text { object in
      object["time"] = time.description
      object["level"] = level.rawValue
      object.add("message", json: LogScalar.text(message).json)
      for field in fields { object.add("\(field.name)", json: field.value.json) }
    }
  }
}

extension LogLine {
  /// Makes the line that stands for events without one of their own.
  init(of events: UnwrittenEvents, at time: Timestamp) {
    switch events {
    case .dropped(let count):
      self.init(
        time: time, level: .warning, message: "log lines dropped: the reader is too slow",
        fields: [("lines", .integer(Int64(count)))])
    case .counted(let sum):
      let service = sum.event.service
      let isNamed = !service.isEmpty
      self.init(
        time: time, level: sum.event.level, message: sum.event.message,
        fields: (isNamed ? [("service", .text(service))] : []) + [
          ("more", .integer(Int64(sum.count))),
          ("seconds", .integer(LogRates.span.components.seconds)),
        ])
    }
  }
}

extension LogScalar {
  /// The value as JSON, of which no character is invisible.
  fileprivate var json: [UInt8] {
    switch self {
    case .text(let text):
      return Array(String(decoding: text.jsonBytes, as: UTF8.self).escapingInvisible.utf8)
    case .integer(let number): return number.jsonBytes
    case .number(let number): return Array((number.isFinite ? String(number) : "null").utf8)
    case .boolean(let flag): return flag.jsonBytes
    }
  }
}

extension String {
  /// The text with `\uXXXX` for each character that a terminal or a reader of lines could take for more than text:
  /// controls, separators, and invisible characters that change the direction.
  fileprivate var escapingInvisible: String {
    guard unicodeScalars.contains(where: \.isInvisible) else { return self }
    var text = ""
    for scalar in unicodeScalars {
      guard scalar.isInvisible else {
        text.unicodeScalars.append(scalar)
        continue
      }
      for unit in UTF16.encode(scalar) ?? UTF16.encodedReplacementCharacter {
        let digits = String(unit, radix: 16)
        text += "\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)"
      }
    }
    return text
  }

  /// True if the text needs no quotes in a line of words.
  fileprivate var isBare: Bool { !isEmpty && utf8.allSatisfy { Self.bareBytes[Int($0)] } }

  private static let bareBytes: [Bool] = {
    let bare = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-./:_@+%{}[]".utf8
    return (UInt8.min...UInt8.max).map(bare.contains)
  }()
}

extension Unicode.Scalar {
  fileprivate var isInvisible: Bool {
    guard !(" "..."~").contains(self) else { return false }
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned:
      return true
    default: return false
    }
  }
}
