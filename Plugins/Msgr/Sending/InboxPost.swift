internal import Cryptography
internal import Formats
internal import Platform
internal import Push
internal import Storage

/// A message on its way into one inbox: a person's, a publisher's or a topic's.
struct InboxPost: Sendable {
  /// The sender as the recipient sees it.
  let sender: UserName
  /// The account behind it, which the recipient may have blocked or may know.
  let owner: UserName
  let recipient: UserName
  let text: MessageText
  var parts = MessageParts()
  var isAddRequest = false
  /// What a person's message has beside; nil for others.
  var personal: Personal?
  /// The entry of a topic that the message is a copy of; its recipient has subscribed to the topic, and so knows the sender.
  var topic: TopicEntry?
  /// True if Gotify's clients see the message.
  var isNumbered = false
  /// False for what only fills an inbox.
  var isPushed = true

  /// The owner, if that is another one than the sender, for whom a look-up of its own is needed.
  var otherOwner: UserName? { owner == sender ? nil : owner }

  /// A person's message is copied for the sender's other devices, and a retry of it is known by its name.
  struct Personal: Sendable {
    var clientID: ClientID?
    var digest: [UInt8] = []
    /// The device that sends, if it has shown a token.
    var device: DeviceID?
  }

  /// The place of a message in a topic.
  struct TopicEntry: Sendable {
    let topic: String
    let id: Int64
  }
}

extension InboxPost {
  init(_ draft: Draft, by caller: Caller) {
    self.init(sender: caller.name, owner: caller.name, recipient: draft.recipient, text: draft.text)
    personal = Personal(
      clientID: draft.clientID, digest: draft.clientID == nil ? [] : draft.digest,
      device: caller.device)
  }
}

/// The result of sending a message.
struct SendReceipt: Sendable {
  let id: MsgrMessageID
  /// True if the message was stored, which it is not if the recipient blocks the sender.
  var isStored: Bool
  /// The entries that were written into users' logs, for their streams.
  var entries: [LogEntry] = []
  /// The kinds of push services that it is pushed to, as far as the pushes aren't leased yet.
  var pushes: Set<PushKind> = []
  /// The pushes that were leased as they were queued.
  var leased: [LeasedPush] = []
  /// The number of pushes that went because too many waited.
  var droppedPushes = 0
  /// The identifier of the sender's own copy, if there is one.
  var own: MsgrMessageID?
  /// The number by which Gotify's clients know the message.
  var number: Int64?
}

/// A message in the log of a user whose streams bring it.
struct LogEntry: Sendable {
  let user: UserName
  /// The last identifier of the log before.
  let predecessor: MsgrMessageID
  let message: Message
  /// The nodes that have streams of the user, if several share the store.
  let nodes: [NodeID]
}

extension SendReceipt {
  /// The response to a message that was sent.
  var json: [UInt8] {
    JSONWriter.object { object in
      object["Id"] = id.text
      object["Own"] = own?.text
    }
  }
}
