/// The value of a key in the file or in a variable, before its type is known.
struct WrittenValue {
  let value: TOMLNode.Value
  let origin: ConfigurationOrigin
  /// True if the value is text that may stand for any type, as in the environment.
  var isText = false
  /// True if the value may be a secret that must not be shown.
  var isHidden = false
  /// The place in an array, such as `[1]` for the second value, or empty for a whole value.
  var index = ""

  /// The same value, as one that must not be shown.
  var hidden: WrittenValue {
    var hidden = self
    hidden.isHidden = true
    return hidden
  }

  /// Describes the value for an error: a long one is cut, and one that may be secret is not shown.
  private var found: String {
    switch value {
    case .table: "a table"
    case .array: "an array"
    case .date: "a date"
    case _ where isHidden: "something else"
    case .string(let text): text.shortened.quoted
    case .integer(let number): String(number)
    case .float(let number): String(number)
    case .boolean(let truth): String(truth)
    }
  }

  /// Makes the refusal of this value.
  func mismatch(_ expected: String, hint: String = "") -> Mismatch {
    Mismatch(complaints: [
      Mismatch.Complaint(
        origin: origin, index: index,
        message: "expected \(expected), found \(found)\(hint)")
    ])
  }

  /// Returns the text of a string. NUL is refused, as it ends a string for the system's functions.
  func string(_ expected: String) throws(Mismatch) -> String {
    guard case .string(let text) = value else { throw mismatch(expected) }
    guard !text.utf8.contains(0) else { throw mismatch("\(expected) without NUL") }
    return text
  }

  /// Returns what a string means.
  func string<Value>(_ expected: String, as parse: (String) -> Value?) throws(Mismatch) -> Value {
    guard let value = parse(try string(expected)) else { throw mismatch(expected) }
    return value
  }

  /// Returns a whole number in a range.
  func integer(in range: ClosedRange<Int>) throws(Mismatch) -> Int {
    let number: Int? =
      switch value {
      case .integer(let number): number
      case .string(let text) where isText: Int(text)
      default: nil
      }
    guard let number, range.contains(number) else {
      throw mismatch("an integer from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// Returns the one of some choices that a string names.
  func choice<Choice>(
    of choices: [Choice], named name: (Choice) -> String
  ) throws(Mismatch) -> Choice {
    let names = choices.map(name)
    let expected = "one of " + names.map(\.quoted).joined(separator: ", ")
    let text = try string(expected)
    guard let choice = choices.first(where: { name($0) == text }) else {
      let hint = Suggestion.close(to: text, among: names).map { ", did you mean \($0.quoted)?" }
      throw mismatch(expected, hint: hint ?? "")
    }
    return choice
  }

  /// Returns a value that lies in this one in the file.
  func part(_ node: TOMLNode, index: String) -> WrittenValue {
    WrittenValue(value: node.value, origin: origin.moved(to: node.place), index: index)
  }

  /// Returns the values of an array, or of a text: an array in TOML, or values with commas between them. Spaces around the
  /// commas are ignored, and an empty text is the empty list.
  func list(_ expected: String) throws(Mismatch) -> [WrittenValue] {
    if case .array(let nodes) = value {
      return nodes.enumerated().map { part($1, index: "[\($0)]") }
    }
    guard isText, case .string(let text) = value else { throw mismatch(expected) }
    if let nodes = Self.array(text) {
      return nodes.enumerated().map {
        WrittenValue(value: $1.value, origin: origin, isHidden: isHidden, index: "[\($0)]")
      }
    }
    guard text.contains(where: { $0 != " " }) else { return [] }
    let parts = text.split(separator: ",", omittingEmptySubsequences: false)
    return parts.enumerated().map { index, part in
      WrittenValue(
        value: .string(String(part.trimmed)), origin: origin, isText: true, isHidden: isHidden,
        index: "[\(index)]")
    }
  }

  /// Returns the values of a text that is an array in TOML. An address such as `[::1]:8080` is none.
  private static func array(_ text: String) -> [TOMLNode]? {
    guard text.trimmed.hasPrefix("["), !text.contains("\n"),
      let table = try? TOMLNode.table(parsing: Array("list = \(text)".utf8)),
      case .array(let nodes) = table["list"]?.value
    else { return nil }
    return nodes
  }
}

/// The refusal of a written value. For a list, it names every wrong element.
struct Mismatch: Error {
  struct Complaint {
    let origin: ConfigurationOrigin
    let index: String
    let message: String
  }

  var complaints: [Complaint]

  /// Reads all parts of a value, and refuses together those that are wrong.
  static func collect<Part>(
    _ parts: some Sequence<Part>, _ read: (Part) throws(Mismatch) -> Void
  ) throws(Mismatch) {
    var mismatch = Mismatch(complaints: [])
    for part in parts {
      do throws(Mismatch) { try read(part) } catch { mismatch.complaints += error.complaints }
    }
    guard mismatch.complaints.isEmpty else { throw mismatch }
  }
}

extension StringProtocol where SubSequence == Substring {
  /// The text without the spaces at both ends.
  var trimmed: Substring {
    var text = drop { $0 == " " }
    while text.last == " " { text.removeLast() }
    return text
  }
}
