internal import Formats

/// A button beside a message, which the app that shows the message carries out.
struct MessageAction: Hashable, Sendable, Codable {
  /// The effect of a button.
  enum Kind: String, Sendable, Codable, CaseIterable {
    case view, broadcast, http, copy
  }

  /// The length of ``id``.
  static let idLength = 10

  let id: String
  let action: Kind
  let label: String
  /// True if the message goes when the button was used.
  let clear: Bool
  var url: String?
  var method: String?
  var headers: [String: String]?
  var body: String?
  var intent: String?
  var extras: [String: String]?
  var value: String?
}

extension MessageAction {
  /// The reason why something is no action, in words that follow "is dropped, as".
  struct Fault: Error, Hashable {
    let reason: String
  }

  private static let longestLabel = 256
  /// The most bytes of all texts of an action together.
  private static let longest = 4096

  /// Checks an action.
  ///
  /// - Parameter id: the identifier that it gets.
  init(_ object: JSONValue, id: String) throws(Fault) {
    let json = object.foldingNames
    guard json.members != nil else { throw Fault(reason: "it is no object") }
    guard let name = json["action"]?.string, let kind = Kind(rawValue: name.lowercased()) else {
      throw Fault(reason: "it is none of view, broadcast, http and copy")
    }
    guard json.json.utf8.count <= Self.longest else { throw Fault(reason: "it is too long") }
    let label = PlainText.line(json["label"]?.string ?? "")
    guard !label.isEmpty, label.utf8.count <= Self.longestLabel else {
      throw Fault(reason: "its label is missing or too long")
    }
    self.id = id
    action = kind
    self.label = label
    clear = try Self.truth(json["clear"])
    switch kind {
    case .view: url = try Self.link(json["url"])
    case .http:
      url = try Self.link(json["url"], schemes: MessageLink.webSchemes)
      method = try Self.method(json["method"])
      headers = try Self.texts(json["headers"], named: "headers")
      body = json["body"]?.string.map(PlainText.cleaned)
    case .broadcast:
      intent = json["intent"]?.string.map(PlainText.line)
      extras = try Self.texts(json["extras"], named: "extras")
    case .copy:
      guard let text = json["value"]?.string, !text.isEmpty else {
        throw Fault(reason: "its value is missing")
      }
      value = PlainText.cleaned(text)
    }
  }

  private static func truth(_ json: JSONValue?) throws(Fault) -> Bool {
    switch json {
    case nil, .null: return false
    case .truth(let truth): return truth
    case .text(let text):
      switch text.lowercased() {
      case "1", "yes", "true": return true
      case "", "0", "no", "false": return false
      default: throw Fault(reason: "its `clear` is neither true nor false")
      }
    default: throw Fault(reason: "its `clear` is neither true nor false")
    }
  }

  private static func link(
    _ json: JSONValue?, schemes: Set<String>? = nil
  ) throws(Fault) -> String {
    guard let text = json?.string, let link = MessageLink(text, schemes: schemes) else {
      throw Fault(reason: "its url is missing or no link")
    }
    return link.text
  }

  private static func method(_ json: JSONValue?) throws(Fault) -> String? {
    guard let text = json?.string, !text.isEmpty else { return nil }
    let method = text.uppercased()
    guard method.utf8.count <= 16, method.utf8.allSatisfy(\.isLetterOrDigit) else {
      throw Fault(reason: "its method is none")
    }
    return method
  }

  /// Returns the members of an object whose values are all texts, as one app refuses the whole message for another value.
  private static func texts(
    _ json: JSONValue?, named name: String
  ) throws(Fault) -> [String: String]? {
    guard let json, json != .null else { return nil }
    guard let members = json.members else { throw Fault(reason: "its \(name) are no object") }
    var texts: [String: String] = [:]
    for member in members {
      switch member.value {
      case .text(let text): texts[PlainText.line(member.name)] = PlainText.line(text)
      case .truth(let truth): texts[PlainText.line(member.name)] = "\(truth)"
      case .number: texts[PlainText.line(member.name)] = member.value.json
      case .null: break
      default: throw Fault(reason: "its \(name) aren't all texts")
      }
    }
    return texts.isEmpty ? nil : texts
  }
}
