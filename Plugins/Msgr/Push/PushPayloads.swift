internal import Formats
internal import Platform
internal import Push

/// The text and the parts of a message, as much as a payload has room for.
///
/// When room is short, Gotify's extras, the actions and the icon go first, then the end of the text. What else a publisher may make
/// long goes if there would be next to no text.
private struct FittedMessage {
  /// The members that go before the text is cut, in this order.
  private static let dispensable = ["Extras", "Actions", "Icon"]
  /// The members that go when less of the text than ``leastText`` would be left, in this order.
  private static let long = ["Attachment", "Tags", "Link", "Title"]
  private static let leastText = 256
  private static let ellipsis = "…"

  let text: String
  let parts: [JSONValue.Member]
  let isCut: Bool

  /// Fits a message.
  ///
  /// - Parameters:
  ///   - longest: the most bytes of the payload.
  ///   - size: returns the bytes of the payload with such a text and such parts.
  init(
    _ text: String, _ parts: [JSONValue.Member], upTo longest: Int,
    size: (String, [JSONValue.Member]) -> Int
  ) {
    var parts = parts
    for name in Self.dispensable where size(text, parts) > longest {
      parts.removeAll { $0.name == name }
    }
    isCut = size(text, parts) > longest
    guard isCut else {
      self.text = text
      self.parts = parts
      return
    }
    let least = text.escapedPrefix(upTo: Self.leastText) + Self.ellipsis
    for name in Self.long where size(least, parts) > longest {
      parts.removeAll { $0.name == name }
    }
    self.parts = parts
    let room = longest - size("", parts) - Self.ellipsis.utf8.count
    self.text = text.escapedPrefix(upTo: max(0, room)) + Self.ellipsis
  }
}

extension String {
  /// Returns as many of the first characters as have room in a text in JSON.
  ///
  /// - Parameter room: the most bytes, as they are escaped.
  fileprivate func escapedPrefix(upTo room: Int) -> String {
    var text = ""
    var length = 0
    for character in self {
      length += String(character).escapedInJSON.utf8.count
      guard length <= room else { break }
      text.append(character)
    }
    return text
  }
}

/// The payload of a push to Apple: JSON of at most 4,096 bytes, in which the alert's copy of the message is cut to fit.
///
/// A person's message fits whole, as ``MessageText/fitsIntoPush(from:)`` tells; a publisher's may be cut.
enum APNsPayload {
  /// The bytes of the alert's copy that a message which has to be cut leaves room for.
  private static let alertRoom = 1024

  /// Returns the payload of a push, in UTF-8.
  ///
  /// - Parameter mayBeCritical: whether a message of the highest priority is a critical alert.
  static func json(of message: PushedMessage, mayBeCritical: Bool = false) -> [UInt8] {
    let isCritical = mayBeCritical && message.parts.isHighest
    let payload = {
      (alert: String, text: String, parts: [JSONValue.Member], isCut: Bool) -> String in
      Self.payload(
        message, alert: alert, text: text, parts, isCut: isCut, isCritical: isCritical)
    }
    let members = message.parts.members
    let whole = payload("", message.text.text, members, false)
    let room = MessageText.longestPush - whole.utf8.count
    if room >= 0 {
      let alert = message.alertText.escapedPrefix(upTo: room)
      return Array(payload(alert, message.text.text, members, false).utf8)
    }
    let fitted = FittedMessage(
      message.text.text, members, upTo: MessageText.longestPush - alertRoom
    ) { text, parts in payload("", text, parts, true).utf8.count }
    let alert = message.alertText.escapedPrefix(upTo: alertRoom)
    return Array(payload(alert, fitted.text, fitted.parts, fitted.isCut).utf8)
  }

  private static func payload(
    _ message: PushedMessage, alert: String, text: String, _ parts: [JSONValue.Member],
    isCut: Bool, isCritical: Bool
  ) -> String {
    let alert = JSONValue.object(["title": .text(message.title), "body": .text(alert)])
    let aps = JSONValue.object([
      "alert": alert, "sound": sound(of: message.parts, isCritical: isCritical),
      "badge": .integer(message.badge),
      "interruption-level": isCritical
        ? .text("critical") : message.parts.interruptionLevel.map { .text($0) },
    ])
    let own: [JSONValue.Member] = [
      JSONValue.Member("aps", aps), JSONValue.Member("UserFrom", .text(message.sender.text)),
      JSONValue.Member("Message", .text(text)), JSONValue.Member("Id", .text(message.id.text)),
    ]
    var members = own + parts
    if message.isAddRequest { members.append(JSONValue.Member("AddRequest", .truth(true))) }
    if isCut { members.append(JSONValue.Member("Cut", .truth(true))) }
    return JSONValue.object(members).json
  }

  private static func sound(of parts: MessageParts, isCritical: Bool) -> JSONValue? {
    guard isCritical else { return parts.isLow ? nil : .text("default") }
    return .object(["critical": .integer(1), "name": .text("default"), "volume": .integer(1)])
  }
}

extension MessageParts {
  /// True for the highest priority, in ntfy's scale 5.
  fileprivate var isHighest: Bool {
    priority.map { $0 >= MessagePriority.range.upperBound } ?? false
  }
  /// How much an iPhone interrupts its user; nil where nothing is said.
  fileprivate var interruptionLevel: String? {
    switch priority {
    case nil: nil
    case .some(..<4): "passive"
    case .some(4..<8): "active"
    default: "time-sensitive"
    }
  }
}

/// The data of a push that FCM takes: as an app can't open, merge or mute what Google's library shows by itself, a push has
/// nothing else.
enum FCMMessage {
  /// The most bytes of keys and values together.
  private static let longest = 4096

  /// Returns the data that the app gets: an object of strings, in UTF-8.
  static func data(of message: PushedMessage) -> [UInt8] {
    let fitted = FittedMessage(
      message.text.text, message.parts.members, upTo: longest
    ) { text, parts in
      // Some room is kept for the member that says that the text was cut.
      members(message, text, parts, isCut: true).reduce(0) { length, member in
        length + member.name.utf8.count + (member.value.string ?? "").escapedInJSON.utf8.count
      }
    }
    return JSONValue.object(members(message, fitted.text, fitted.parts, isCut: fitted.isCut)).bytes
  }

  private static func members(
    _ message: PushedMessage, _ text: String, _ parts: [JSONValue.Member], isCut: Bool
  ) -> [JSONValue.Member] {
    var members: [JSONValue.Member] = [
      JSONValue.Member("Id", .text(message.id.text)),
      JSONValue.Member("UserFrom", .text(message.sender.text)),
      JSONValue.Member("Message", .text(text)),
      JSONValue.Member("Time", .text(message.created.description)),
      JSONValue.Member("Badge", .text("\(message.badge)")),
    ]
    if message.isAddRequest { members.append(JSONValue.Member("AddRequest", .text("true"))) }
    if isCut { members.append(JSONValue.Member("Cut", .text("true"))) }
    return members
      + parts.map { JSONValue.Member($0.name, .text($0.value.string ?? $0.value.json)) }
  }
}

/// The content of a push to a browser: JSON, in which the message is cut to fit.
enum WebPushPayload {
  /// Returns the content of a message.
  ///
  /// - Parameters:
  ///   - isShort: whether the message is left out, as the push service takes no longer pushes.
  ///   - page: the address that a tap opens if the message has no link.
  /// - Returns: at most ``WebPushEncryption/longest`` bytes of UTF-8.
  static func json(of message: PushedMessage, isShort: Bool, page: String) -> [UInt8] {
    let make = { (text: String?, parts: [JSONValue.Member], isCut: Bool) in
      message.isDeclarative
        ? declarative(message, text, parts, page: page)
        : plain(message, text, parts, isCut: isCut)
    }
    let parts = message.parts.members
    guard !isShort else { return make(nil, parts, false).bytes }
    let fitted = FittedMessage(
      message.text.text, parts, upTo: WebPushEncryption.longest
    ) { text, parts in make(text, parts, true).json.utf8.count }
    return make(fitted.text, fitted.parts, fitted.isCut).bytes
  }

  private static func plain(
    _ message: PushedMessage, _ text: String?, _ parts: [JSONValue.Member], isCut: Bool
  ) -> JSONValue {
    var members: [JSONValue.Member] = [
      JSONValue.Member("Id", .text(message.id.text)),
      JSONValue.Member("UserFrom", .text(message.sender.text)),
      JSONValue.Member("Time", .text(message.created.description)),
      JSONValue.Member("Badge", .integer(message.badge)),
    ]
    if message.isAddRequest { members.append(JSONValue.Member("AddRequest", .truth(true))) }
    if !message.emoji.isEmpty { members.append(JSONValue.Member("Emoji", .text(message.emoji))) }
    members += parts
    if isCut { members.append(JSONValue.Member("Cut", .truth(true))) }
    if let text { members.append(JSONValue.Member("Message", .text(text))) }
    return .object(members)
  }

  /// The notification as browsers show it without a script (Declarative Web Push).
  private static func declarative(
    _ message: PushedMessage, _ text: String?, _ parts: [JSONValue.Member], page: String
  ) -> JSONValue {
    let link = parts.first { $0.name == "Link" }?.value.string
    return .object([
      "web_push": .integer(8030),
      "notification": .object([
        "title": .text(message.title), "navigate": .text(link ?? page),
        "app_badge": .text("\(message.badge)"), "tag": .text(message.mark),
        "dir": .text("auto"), "body": text.map { .text(message.alert($0)) },
      ]),
    ])
  }
}
