internal import Formats

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
