internal import Formats

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
