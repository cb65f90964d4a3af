internal import Formats

/// The short form of actions in one line: `view, Open, https://…; http, Close, https://…, method=PUT, clear=true`.
///
/// Actions are separated by semicolons, their members by commas. The first three have no names. A value in single or double
/// quotation marks may hold any character.
enum ActionsSyntax {
  /// The reason why a text is no list of actions.
  struct Fault: Error, Hashable {
    let reason: String
    /// True if the rest of the action was not read.
    var isWithinAction = false
  }

  /// The most actions that are read: one more than a message may have, so that it can be said.
  private static let most = 4
  /// The most parts that are no actions, of which each is said.
  private static let mostFaults = 8
  private static let mostMembers = 32

  /// Parses actions in the short form, or as a JSON list.
  ///
  /// - Returns: objects with the members of actions, which are yet to be validated, and notes of those that are none.
  static func parse(_ text: String) throws(Fault) -> (actions: [JSONValue], notes: [String]) {
    let text = text.trimmingBlanks
    if text.hasPrefix("[") || text.hasPrefix("{") {
      guard let json = JSONValue(parsing: Array(text.utf8)) else {
        throw Fault(reason: "they are no JSON")
      }
      return (json.elements ?? [json], [])
    }
    var actions: [JSONValue] = []
    var notes: [String] = []
    var rest = text[...]
    while !rest.isEmpty, actions.count < most, notes.count < mostFaults {
      do throws(Fault) {
        let members = try members(of: &rest)
        guard !members.isEmpty else { continue }
        actions.append(try action(members))
      } catch {
        notes.append("Action \(actions.count + notes.count + 1) was dropped: \(error.reason)")
        // The next one may be good.
        if error.isWithinAction { rest = rest.drop { $0 != ";" }.dropFirst() }
      }
    }
    return (actions, notes)
  }

  /// The names of the members that may stand without one, in their order.
  private static func positionalName(_ index: Int, kind: String?) -> String? {
    switch index {
    case 0: "action"
    case 1: "label"
    case 2:
      switch kind {
      case "view", "http": "url"
      case "copy": "value"
      default: nil
      }
    default: nil
    }
  }

  private static func action(_ members: [(name: String?, value: String)]) throws(Fault) -> JSONValue
  {
    var plain: [JSONValue.Member] = []
    var groups: [String: [JSONValue.Member]] = ["headers": [], "extras": []]
    var kind: String?
    for (index, member) in members.enumerated() {
      guard let name = member.name ?? positionalName(index, kind: kind) else {
        throw Fault(reason: "a value has no name")
      }
      if index == 0 { kind = member.value.lowercased() }
      if let dot = name.firstIndex(of: "."), groups[String(name[..<dot])] != nil {
        groups[String(name[..<dot]), default: []].append(
          JSONValue.Member(String(name[name.index(after: dot)...]), .text(member.value)))
      } else {
        plain.removeAll { $0.name == name }
        plain.append(JSONValue.Member(name, .text(member.value)))
      }
    }
    for (name, group) in groups.sorted(by: { $0.key < $1.key }) where !group.isEmpty {
      plain.append(JSONValue.Member(name, .object(group)))
    }
    return .object(plain)
  }

  /// Reads the members of one action, up to a semicolon or the end.
  private static func members(
    of rest: inout Substring
  ) throws(Fault) -> [(name: String?, value: String)] {
    var members: [(name: String?, value: String)] = []
    while true {
      rest = rest.drop { $0.isWhitespace }
      guard let next = rest.first else { return members }
      if next == ";" {
        rest.removeFirst()
        return members
      }
      guard members.count < mostMembers else {
        throw Fault(reason: "it has too many members", isWithinAction: true)
      }
      let name = name(of: &rest)
      members.append((name, try value(of: &rest)))
      rest = rest.drop { $0.isWhitespace }
      switch rest.first {
      case ",": rest.removeFirst()
      case ";", nil: break
      default: throw Fault(reason: "something follows a quotation mark", isWithinAction: true)
      }
    }
  }

  /// Reads `name=` where it stands.
  private static func name(of rest: inout Substring) -> String? {
    let name = rest.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || "-_.".contains($0)) }
    let behind = rest[name.endIndex...].drop { $0.isWhitespace }
    guard !name.isEmpty, behind.first == "=" else { return nil }
    rest = behind.dropFirst()
    return String(name)
  }

  private static func value(of rest: inout Substring) throws(Fault) -> String {
    rest = rest.drop { $0.isWhitespace }
    guard let mark = rest.first, mark == "\"" || mark == "'" else {
      let value = rest.prefix { $0 != "," && $0 != ";" }
      rest = rest[value.endIndex...]
      return value.trimmingBlanks
    }
    rest.removeFirst()
    var value = ""
    while let next = rest.popFirst() {
      if next == mark { return value }
      if next == "\\", let escaped = rest.first, escaped == mark {
        value.append(rest.removeFirst())
      } else {
        value.append(next)
      }
    }
    throw Fault(reason: "a quotation mark is missing", isWithinAction: true)
  }
}
