internal import Cluster
internal import Formats
internal import Platform
internal import Storage

/// The number of an entry, which rises in the log of a topic.
struct TopicPosition: EntryPosition, DatabaseValueConvertible {
  let rawValue: Int64

  init(rawValue: Int64) { self.rawValue = rawValue }

  /// The position before all entries.
  static let zero = TopicPosition(rawValue: 0)

  static func < (left: TopicPosition, right: TopicPosition) -> Bool {
    left.rawValue < right.rawValue
  }
}

/// The kinds of entries.
enum TopicEvent: Int, Sendable, DatabaseValueConvertible {
  case message = 0
  /// A sequence of messages was deleted.
  case deletion = 1
  /// A sequence of messages was read.
  case clearing = 2
}

/// An entry of a topic's log.
struct TopicEntry: Sendable, Hashable {
  /// The length of ``id``.
  static let idLength = 12

  let number: TopicPosition
  let topic: TopicName
  let id: String
  let event: TopicEvent
  /// The time that is shown; of a message that waits, when it comes.
  let time: Timestamp
  let expires: Timestamp
  var isTransient = false
  /// The name under which later messages replace this one; the ``id`` if the publisher gave none.
  let sequence: String
  let text: String
  var parts = MessageParts()
  /// True for bytes that are no text, which ``text`` has in base64.
  var isBase64 = false
}

/// An entry that is to be written.
struct TopicPost: Sendable {
  let topic: TopicName
  let id: String
  var event = TopicEvent.message
  /// The name of its sequence; nil for none.
  var sequence: String?
  var text = ""
  var parts = MessageParts()
  var isBase64 = false
  /// True if open streams alone get it.
  var isTransient = false
  /// The time at which it comes; nil for now.
  var due: Timestamp?
  /// True for UnifiedPush's, which needs somebody who has subscribed, and wakes no iPhone.
  var isUnifiedPush = false
  /// The file that was received for it.
  var file: String?
}

/// The reason why a request of a topic's isn't done.
enum TopicRefusal: Error, Hashable, Sendable {
  /// There is no right to it, or no such topic.
  case forbidden
  /// The credentials are wrong.
  case unauthorized
  /// The address has failed to log in too often.
  case tooManyFailures(retryAfter: Int)
  /// Too many requests.
  case tooManyRequests(retryAfter: Int)
  case tooManyStreams(retryAfter: Int)
  /// The account or address may not make another topic.
  case tooManyTopics
  case tooManyWaiting
  case tooManySubscribers
  /// The topic names as many users as it may.
  case tooManyNamed
  /// The site has as many uploads in progress as it may have.
  case tooManyUploads
  /// The day's bytes of files are used up.
  case bandwidth(retryAfter: Int)
  /// The body or a file is too large, and there is nothing else to publish.
  case tooLarge
  /// No files are kept.
  case noFiles
  /// Nobody has subscribed to the topic yet, so that the message would be lost.
  case noSubscriber
  /// Too many passwords wait, or the store can't be reached.
  case busy
}

/// The credentials that a request was let in by, to be looked at again while its stream is open.
enum TopicCredential: Sendable, Hashable {
  case nothing
  case session(TokenHash)
  /// A publisher's token, or one of a Gotify client's that stands for it.
  case publisher(TokenHash)
  case password(UserName, hash: String)
}

/// The sender of a request, and its network.
struct TopicRequester: Sendable, Hashable {
  let caller: TopicCaller
  let credential: TopicCredential
  /// The network, in words that the store keeps; nil for a Unix socket.
  let site: String?

  /// The site of the network; nil for a Unix socket.
  var siteName: String? { site.flatMap(ClientNetwork.init(words:))?.site }

  /// The key by which limits count: the account, or without one the network.
  var limitKey: String { caller.account.map { "a\($0.text)" } ?? "n\(site ?? "")" }
}

/// A topic as its users see it. The members' names are those in JSON.
struct TopicSummary: Sendable, Encodable, Hashable {
  let Topic: String
  let Owner: String?
  let Access: TopicLevel
  let Everyone: TopicLevel
  let Subscribed: Bool
  let Push: Bool
}

/// The rights that the owner of a topic has given. The members' names are those in JSON.
struct TopicPermissions: Sendable, Encodable, Hashable {
  let Topic: String
  let Owner: String?
  let Everyone: TopicLevel
  let Users: [String: TopicLevel]
}

/// A topic in the operator's list.
struct TopicListing: Sendable, Encodable, Hashable {
  let topic: String
  let owner: String?
  let everyone: TopicLevel
  let messages: Int
  let subscribers: Int
  let created: String
  let used: String
}
