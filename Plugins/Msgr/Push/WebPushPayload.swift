internal import Formats
internal import Push

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
