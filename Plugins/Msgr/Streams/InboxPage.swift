internal import MsgrProtocol

/// Messages of an inbox in their order, as streams bring them.
struct InboxPage: Sendable {
  /// A message in JSON.
  struct Entry: Sendable {
    let id: MessageID
    let json: [UInt8]
    /// The device that has sent the message, if it is an own one; its streams don't bring it.
    var origin: DeviceID?
  }

  /// The position after which they were read; none is missing between.
  let position: MessageID
  let entries: [Entry]
  /// Whether there may be more after the last one.
  let mayBeMore: Bool

  /// The last message, if there is one.
  var last: MessageID? { entries.last?.id }
}
