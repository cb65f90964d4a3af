internal import MsgrProtocol
internal import Time

/// A push in the form that FCM HTTP v1 takes: a message of data alone, as an app can't open, merge or mute what Google's
/// library shows by itself.
///
/// Keys and values of what fits into a push to Apple have at most 4,096 bytes, which is as much as FCM takes.
enum FCMMessage {
  /// The longest time that FCM keeps a message.
  private static let longestLife = Duration.seconds(28 * 86_400)

  /// Returns the body of a request, in UTF-8.
  static func json(of push: Push, to token: Substring, at now: Timestamp) -> [UInt8] {
    let life = min(max(now.duration(to: push.expires), .zero), longestLife).components.seconds
    let priority = push.extras.priority?.isLow == true ? "NORMAL" : "HIGH"
    return Array(#"{"message":{"token":"\#(token)","data":"#.utf8) + data(of: push)
      + Array(#","android":{"priority":"\#(priority)","ttl":"\#(life)s"}}}"#.utf8)
  }

  /// Returns the data that the app gets: an object of strings, in UTF-8.
  static func data(of push: Push) -> [UInt8] {
    Array(
      (#"{"Id":"\#(push.message.text)","UserFrom":"\#(push.sender.text.escapedInJSON)","#
        + #""Message":"\#(push.text.text.escapedInJSON)","Time":"\#(push.created)","#
        + #""Badge":"\#(push.badge)""# + (push.isAddRequest ? #","AddRequest":"true""# : "")
        + push.extras.textJSON + "}").utf8)
  }
}
