/// A line that is being typed at a terminal, byte by byte.
///
/// The system's own line editing cuts lines after 4,095 bytes, which a pasted text exceeds.
struct LineEditor: Sendable {
  /// The result of a byte.
  enum Outcome: Equatable, Sendable {
    /// The line goes on; the terminal is to write these bytes.
    case typing(echo: [UInt8])
    /// The line is complete.
    case line(String)
    /// There will be no further line.
    case end
  }

  /// A sequence of bytes that stands for a key such as an arrow (ECMA-48).
  private enum Escape {
    case none
    /// The sequence has begun.
    case begun
    /// Its parameters follow, until a byte from `@` to `~`.
    case parameters
  }

  /// The most bytes of a line: what is longer can't be sent anyway.
  static let longest = 1 << 20

  private static let eraseCharacter: [UInt8] = Array("\u{8} \u{8}".utf8)
  private static let eraseLine: [UInt8] = Array("\r\u{1b}[K".utf8)

  private var bytes: [UInt8] = []
  private var escape = Escape.none

  /// The text so far, as the terminal shows it.
  var typed: [UInt8] { bytes }

  /// Receives a byte.
  mutating func receive(_ byte: UInt8) -> Outcome {
    if escape != .none { return skip(byte) }
    switch byte {
    case UInt8(ascii: "\n"), UInt8(ascii: "\r"):
      let line = String(decoding: bytes, as: UTF8.self)
      bytes = []
      return .line(line)
    case ControlKey.end: return bytes.isEmpty ? .end : .typing(echo: [])
    case ControlKey.escape:
      escape = .begun
      return .typing(echo: [])
    case ControlKey.backspace, ControlKey.delete: return erase { $0.removeLast() }
    case ControlKey.eraseLine: return erase { $0 = "" }
    case ControlKey.eraseWord:
      return erase { text in
        while text.last == " " { text.removeLast() }
        while let last = text.last, last != " " { text.removeLast() }
      }
    case UInt8(ascii: "\t"), 0x20...: return append(byte)
    default: return .typing(echo: [])
    }
  }

  private mutating func append(_ byte: UInt8) -> Outcome {
    guard bytes.count < Self.longest else { return .typing(echo: []) }
    bytes.append(byte)
    return .typing(echo: [byte])
  }

  private mutating func skip(_ byte: UInt8) -> Outcome {
    switch escape {
    case .begun where byte == UInt8(ascii: "[") || byte == UInt8(ascii: "O"): escape = .parameters
    case .parameters where !(0x40...0x7e).contains(byte): break
    default: escape = .none
    }
    return .typing(echo: [])
  }

  /// Erases characters at the end.
  private mutating func erase(_ change: (inout String) -> Void) -> Outcome {
    guard !bytes.isEmpty else { return .typing(echo: []) }
    var text = String(decoding: bytes, as: UTF8.self)
    change(&text)
    let rest = Array(text.utf8)
    let erased = bytes.dropFirst(rest.count)
    bytes = rest
    guard erased.allSatisfy({ (0x20..<0x7f).contains($0) }) else {
      // How wide the characters are, only the terminal knows.
      return .typing(echo: Self.eraseLine + bytes)
    }
    return .typing(echo: erased.flatMap { _ in Self.eraseCharacter })
  }

  /// Keys as terminals send them.
  private enum ControlKey {
    static let end: UInt8 = 0x04
    static let backspace: UInt8 = 0x08
    static let eraseLine: UInt8 = 0x15
    static let eraseWord: UInt8 = 0x17
    static let escape: UInt8 = 0x1b
    static let delete: UInt8 = 0x7f
  }
}
