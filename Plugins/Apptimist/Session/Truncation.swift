/// The result of a request for truncation.
enum Truncation: Hashable, Sendable {
  /// The message's content is deleted, and the stream tells so at this position.
  case first(StreamPosition)
  /// The message was truncated before.
  case again
  /// The message was never in the mailbox.
  case never
}
