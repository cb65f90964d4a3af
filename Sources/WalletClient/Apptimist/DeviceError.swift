public import ApptimistProtocol

/// Why something that was asked of a ``Device`` was not done. No key, name or content is in its text.
public enum DeviceError: Error, Sendable, Hashable {
  /// The service lets the device not in: no such account, the account can't be made, or it is another
  /// service than the one whose keys the app has. To try again by itself is useless.
  case refused
  /// The connection broke before the answer came: it was done, or it wasn't. Only what may safely be
  /// done twice is repeated without being asked.
  case interrupted
  /// It took longer than it may; a message may still be delivered.
  case timedOut
  /// The task was cancelled; what had been sent may still be done.
  case cancelled
  /// The device does not run any more.
  case closed
  /// ``Device/run()`` runs already.
  case runsAlready
  /// No user and no forum has this key.
  case unknownUser
  /// The message was never in the user's queue.
  case unknownMessage
  /// The service did not do what was asked with a file: the code, and its description in words.
  case file(ErrorCode, String)
  /// The service didn't make the forum, or didn't delete it: the key is taken, or the user may not.
  case forumRefused
  /// What is to be sent is longer than can be, or for a key that nothing can be boxed for.
  case unsendable
  /// What came can't be opened with the keys at hand.
  case doesNotOpen
}

extension DeviceError: CustomStringConvertible {
  /// What failed, for people.
  public var description: String {
    switch self {
    case .refused: "the service refuses: no such account, or none can be made, or its keys differ"
    case .interrupted: "the connection broke; it may have been done or not"
    case .timedOut: "the service takes too long"
    case .cancelled: "the task was cancelled"
    case .closed: "the device does not run any more"
    case .runsAlready: "the device runs already"
    case .unknownUser: "no user and no forum has this key"
    case .unknownMessage: "the message was never in the queue"
    case .file(let code, let words): words.isEmpty ? "\(code)" : words
    case .forumRefused: "the forum's key is taken, or the user may not do that"
    case .unsendable: "it is too long, or the key is none that can be sent to"
    case .doesNotOpen: "it does not open with the keys at hand"
    }
  }
}
