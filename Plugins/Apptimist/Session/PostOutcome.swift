internal import ApptimistProtocol

/// The outcome of a post.
enum PostOutcome: Hashable, Sendable {
  /// All copies are on disk.
  ///
  /// - isKnown: whether all of them had been queued before.
  /// - own: the position of the one in the sender's own mailbox.
  /// - isOwnNew: whether that one was queued now.
  case queued(isKnown: Bool, own: StreamPosition?, isOwnNew: Bool)
  /// It is refused.
  case refused(ErrorCode)
}
