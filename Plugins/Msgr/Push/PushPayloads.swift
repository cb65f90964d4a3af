internal import Formats
internal import Push

/// The payload of a push to Apple: JSON of at most 4,096 bytes, in which the alert's copy of the message is cut to fit.
///
/// ``MessageText/fitsIntoPush(from:)`` tells whether the message itself fits.
enum APNsPayload {
  /// The highest badge that is shown, which takes all digits that are set aside for a badge.
  private static let highestBadge = 9_999_999

  /// Returns the payload of a push, in UTF-8.
  static func json(of message: PushedMessage) -> [UInt8] {
    let sender = message.sender.text.escapedInJSON
    let text = message.text.text.escapedInJSON
    let title = message.title.escapedInJSON
    let head = #"{"aps":{"alert":{"title":"\#(title)","body":""#
    let tail =
      #""},"sound":"default","badge":\#(min(message.badge, highestBadge))},"UserFrom":"\#(sender)","#
      + #""Message":"\#(text)","Id":"\#(message.id.text)""#
      + message.extras.json
      + (message.isAddRequest ? #","AddRequest":true}"# : "}")

    let room = MessageText.longestPush - head.utf8.count - tail.utf8.count
    return Array((head + message.text.text.escapedInJSON(upTo: room) + tail).utf8)
  }
}

extension String {
  /// Returns as many of the first characters as fit, in the form that they have in a text in JSON.
  ///
  /// - Parameter room: the most bytes.
  func escapedInJSON(upTo room: Int) -> String {
    var text = ""
    for character in self {
      let escaped = String(character).escapedInJSON
      guard text.utf8.count + escaped.utf8.count <= room else { break }
      text += escaped
    }
    return text
  }
}

extension Publication.Extras {
  /// The members of a payload that tell of these, each behind a comma.
  var json: String { textJSON + (priority.map { #","Priority":\#($0.rawValue)"# } ?? "") }

  /// The members that are shown to people, each behind a comma.
  var textJSON: String {
    (title.map { #","Title":"\#($0.escapedInJSON)""# } ?? "")
      + (link.map { #","Link":"\#($0.text.escapedInJSON)""# } ?? "")
  }
}

/// The data of a push that FCM takes: as an app can't open, merge or mute what Google's library shows by itself, a push has
/// nothing else.
///
/// Keys and values of what fits into a push to Apple have at most 4,096 bytes, which is as much as FCM takes.
enum FCMMessage {
  /// Returns the data that the app gets: an object of strings, in UTF-8.
  static func data(of message: PushedMessage) -> [UInt8] {
    Array(
      (#"{"Id":"\#(message.id.text)","UserFrom":"\#(message.sender.text.escapedInJSON)","#
        + #""Message":"\#(message.text.text.escapedInJSON)","Time":"\#(message.created)","#
        + #""Badge":"\#(message.badge)""# + (message.isAddRequest ? #","AddRequest":"true""# : "")
        + message.extras.textJSON + "}").utf8)
  }
}

/// The content of a push to a browser: JSON, in which the message is cut to fit.
enum WebPushPayload {
  /// Returns the content of a message.
  ///
  /// - Parameters:
  ///   - message: the message.
  ///   - isShort: whether the message is left out, as the push service takes no longer pushes.
  ///   - page: the address that a tap opens if the message has no link.
  /// - Returns: at most ``WebPushEncryption/longest`` bytes of UTF-8.
  static func json(of message: PushedMessage, isShort: Bool, page: String) -> [UInt8] {
    let text = isShort ? nil : message.text.text
    return message.isDeclarative
      ? declarative(message, text, page: page) : plain(message, text)
  }

  private static func plain(_ message: PushedMessage, _ text: String?) -> [UInt8] {
    let head =
      #"{"Id":"\#(message.id.text)","UserFrom":"\#(message.sender.text.escapedInJSON)","#
      + #""Time":"\#(message.created)","Badge":\#(message.badge)"#
      + (message.isAddRequest ? #","AddRequest":true"# : "") + message.extras.textJSON
    guard let text else { return Array("\(head)}".utf8) }
    return fitted(text, between: head + #","Message":""#, and: #""}"#)
  }

  /// The notification as browsers show it without a script (Declarative Web Push).
  private static func declarative(_ message: PushedMessage, _ text: String?, page: String)
    -> [UInt8]
  {
    let target = message.extras.link?.text ?? page
    let head =
      #"{"web_push":8030,"notification":{"title":"\#(message.title.escapedInJSON)","#
      + #""navigate":"\#(target.escapedInJSON)","app_badge":"\#(message.badge)","#
      + #""tag":"\#(message.id.text)","dir":"auto""#
    guard let text else { return Array("\(head)}}".utf8) }
    return fitted(text, between: head + #","body":""#, and: #""}}"#)
  }

  /// Puts as much of a text as fits between two pieces of JSON, with an ellipsis where it was cut.
  private static func fitted(_ text: String, between head: String, and tail: String) -> [UInt8] {
    let ellipsis = "…"
    let escaped = text.escapedInJSON
    let room = WebPushEncryption.longest - head.utf8.count - tail.utf8.count
    guard escaped.utf8.count > room else { return Array((head + escaped + tail).utf8) }
    let cut = text.escapedInJSON(upTo: room - ellipsis.utf8.count)
    return Array((head + cut + ellipsis + tail).utf8)
  }
}
