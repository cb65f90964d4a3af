public import ApptimistProtocol

/// A reason for which a ``Device`` failed to do something. Its text contains no key, name or content.
public enum DeviceError: Error, Sendable, Hashable {
  /// The service refuses the device: there is no such account, the account can't be made, or the service is another one
  /// than the one whose keys the app has. Trying again is useless.
  case refused
  /// The connection broke before the reply came: the request was done or not. Only requests that may safely be done
  /// twice are repeated by themselves.
  case interrupted
  /// The request timed out. A message may still be delivered.
  case timedOut
  /// The task was cancelled. A request that had been sent may still be done.
  case cancelled
  /// The service lets the user in no more, or makes no account, for this reason; trying again is useless.
  case accountRefused(ErrorCode)
  /// The device does not run any more.
  case closed
  /// ``Device/run()`` runs already.
  case runsAlready
  /// No user and no forum has this key.
  case unknownUser
  /// The message was never in the user's queue.
  case unknownMessage
  /// The service refused a request for this reason.
  case service(ErrorCode)
  /// The service refused a request about a file, with this code and its description in words.
  case file(ErrorCode, String)
  /// The service didn't make or delete the forum: the key is in use, or the user may not.
  case forumRefused
  /// The data to be sent is too long, or is for a key that nothing can be boxed for.
  case unsendable
  /// The data can't be opened with the keys at hand.
  case doesNotOpen
  /// The message is not its author's: a signature is wrong, or missing where there must be one.
  case forged
  /// The message came in version 1's box, which its author has closed: it is from before that, or forged.
  case doubtful
  /// The service refused a part of a link, with this status: 409 for a link that was used before, 429 where there are too many.
  case linkRefused(UInt16)
  /// The post is the same as one that was opened before.
  case repeated
}

extension DeviceError: CustomStringConvertible {
  /// The reason, for people.
  public var description: String {
    switch self {
    case .refused: "the service refuses: no such account, or none can be made, or its keys differ"
    case .interrupted: "the connection broke; it may have been done or not"
    case .timedOut: "the service did not respond in time"
    case .cancelled: "the task was cancelled"
    case .accountRefused(let code): "the service refuses the account: \(code)"
    case .closed: "the device does not run any more"
    case .runsAlready: "the device runs already"
    case .unknownUser: "no user and no forum has this key"
    case .unknownMessage: "the message was never in the queue"
    case .service(let code): "\(code)"
    case .file(let code, let words): words.isEmpty ? "\(code)" : words
    case .forumRefused: "the forum's key is in use, or the user may not do that"
    case .unsendable: "it is too long, or nothing can be sent to that key"
    case .doesNotOpen: "it does not open with the keys at hand"
    case .forged: "it is not signed by its author"
    case .doubtful: "it came unprotected, although its author has closed version 1"
    case .linkRefused(let status): "the service refused the link (status \(status))"
    case .repeated: "it was posted before"
    }
  }
}
