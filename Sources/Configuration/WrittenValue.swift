/// The value of a key in the file or in a variable, before its type is known.
struct WrittenValue {
  let value: TOMLNode.Value
  let origin: ConfigurationOrigin
  /// Whether the value is text that may stand for any type, as in the environment.
  let isText: Bool
  /// Whether the value may be a secret that must not be shown.
  let isHidden: Bool
  /// The place in an array, such as `[1]` for the second value, or empty for a whole value.
  let index: String

  init(_ node: TOMLNode, at origin: ConfigurationOrigin, index: String = "") {
    value = node.value
    self.origin = origin
    isText = false
    isHidden = false
    self.index = index
  }

  init(_ text: String, from variable: ConfigurationDocument.Variable, index: String = "") {
    self.init(
      text, origin: .environment(variable.name), isHidden: variable.isFromFile, index: index)
  }

  init(_ text: String, origin: ConfigurationOrigin, isHidden: Bool, index: String) {
    value = .string(text)
    self.origin = origin
    isText = true
    self.isHidden = isHidden
    self.index = index
  }

  /// Describes the value for an error: a long one is cut, and one that may be secret is not shown.
  func found(hidden: Bool = false) -> String {
    switch value {
    case .table: "a table"
    case .array: "an array"
    case .date: "a date"
    case _ where isHidden || hidden: "something else"
    case .string(let text): text.shortened.quoted
    case .integer(let number): String(number)
    case .float(let number): String(number)
    case .boolean(let truth): String(truth)
    }
  }

  /// Makes the refusal of this value.
  func mismatch(_ expected: String, hint: String = "", hidden: Bool = false) -> Mismatch {
    Mismatch(complaints: [
      Mismatch.Complaint(
        origin: origin, index: index,
        message: "expected \(expected), found \(found(hidden: hidden))\(hint)")
    ])
  }

  /// Returns the text of a string. NUL is refused, as it ends a string for the system's functions.
  func string(_ expected: String, hidden: Bool = false) throws(Mismatch) -> String {
    guard case .string(let text) = value else { throw mismatch(expected, hidden: hidden) }
    guard !text.utf8.contains(0) else {
      throw mismatch("\(expected) without NUL", hidden: hidden)
    }
    return text
  }

  /// Returns the values of an array, or of a comma-separated text. Spaces around the commas are ignored, and an empty
  /// text is the empty list.
  func list(_ expected: String) throws(Mismatch) -> [WrittenValue] {
    if case .array(let nodes) = value {
      return nodes.enumerated().map { index, node in
        WrittenValue(node, at: origin.moved(to: node.place), index: "[\(index)]")
      }
    }
    guard isText, case .string(let text) = value else { throw mismatch(expected) }
    guard text.contains(where: { $0 != " " }) else { return [] }
    let parts = text.split(separator: ",", omittingEmptySubsequences: false)
    return parts.enumerated().map { index, part in
      WrittenValue(
        String(part.trimmed), origin: origin, isHidden: isHidden, index: "[\(index)]")
    }
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
}

extension Substring {
  /// The text without the spaces at both ends.
  var trimmed: Substring {
    var text = drop { $0 == " " }
    while text.last == " " { text.removeLast() }
    return text
  }
}
