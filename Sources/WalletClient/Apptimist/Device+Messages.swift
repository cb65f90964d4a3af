public import ApptimistProtocol
public import Cryptography

internal import Glibc

extension Device {
  /// Seals a message for a user or a forum, to be sent now or later.
  ///
  /// An app keeps the message until it was sent: sending it again is safe, any number of times. Two messages with the
  /// same data to the same recipient in the same second may be one for the service and for readers: put something into
  /// the data that tells them apart.
  ///
  /// If the device doesn't know the recipient yet, it queries the service, as a forum's posts are signed.
  ///
  /// - Parameters:
  ///   - data: any content, in the app's own format.
  ///   - recipient: a user or a forum.
  ///   - time: seconds since 1970, or nil for now.
  ///   - readsVersion1Only: whether the app was told that all devices there speak version 1 alone. Version 1's box is
  ///     then used, unless something was ever seen that speaks against it.
  /// - Returns: the message, and how it is protected.
  /// - Throws: `.unsendable` if the data is longer than ``DeviceOptions/dataLimit`` or the key is of low order;
  ///   `.unknownUser`.
  public func seal(
    _ data: [UInt8], to recipient: EncryptionPublicKey, time seconds: UInt64? = nil,
    readsVersion1Only: Bool = false
  ) async throws(DeviceError) -> OutgoingMessage {
    guard data.count <= options.dataLimit, !recipient.isLowOrder else { throw .unsendable }
    var isVersion1 = false
    if known[recipient].kind == nil || readsVersion1Only {
      guard let found = try await user(recipient) else { throw .unknownUser }
      isVersion1 = found.kind == nil
    }
    let sealing = MessageSealing(
      participant: participant, recipient: known[recipient], isVersion1: isVersion1)
    return try sealing.seal(
      data, time: seconds ?? UInt64(max(0, time(nil))), readsVersion1Only: readsVersion1Only)
  }

  /// Sends a message, and waits until the service has it on disk.
  ///
  /// The message survives reconnections: sent twice it is queued once. For a forum, success in version 1 doesn't tell
  /// that the user may post there: the service ignores other posts silently.
  ///
  /// - Parameter message: a message that ``seal(_:to:time:readsVersion1Only:)`` made.
  /// - Throws: `.unknownUser`; `.service` with the reason; `.timedOut` or `.cancelled`, after which the message may be
  ///   delivered or not: send it again.
  public func send(_ message: OutgoingMessage) async throws(DeviceError) {
    _ = try await exchange(.send(message))
  }

  /// Opens a message that came, and finds out whether its author wrote it.
  ///
  /// If the service holds the forum's secret, it has sealed the message for the user. Otherwise the message comes as its
  /// author sealed it for the forum: then the forum's keys are needed. For a post of an author whom the device doesn't
  /// know yet the service is asked.
  ///
  /// - Parameters:
  ///   - message: one of ``entries``.
  ///   - forum: the pair of the forum that the message was written to, if the user has it.
  ///   - takesDoubtful: whether the user wants to see what may be forged, and sees it so marked.
  /// - Returns: the data, and the protection that it came under, which an app shows.
  /// - Throws: `.doesNotOpen`, `.forged`, `.doubtful`; `.repeated` for a post that came before.
  public func open(
    _ message: DeviceMessage, forum: EncryptionKeyPair? = nil, takesDoubtful: Bool = false
  ) async throws(DeviceError) -> OpenedMessage {
    if MessageOpening.needsAuthor(message), known[message.from].authenticationKey == nil {
      _ = try await user(message.from)
    }
    let opening = MessageOpening(
      participant: participant, forum: forum, author: known[message.from],
      recipient: known[message.to], own: known[user])
    let opened = try opening.open(message, takesDoubtful: takesDoubtful)
    guard message.to == user || posts.insert(message, opened.data) else { throw .repeated }
    return opened
  }

  /// Has a message's content deleted from the user's queue, and the user's other devices notified.
  ///
  /// - Parameter message: a message of the user's stream.
  /// - Throws: `.unknownMessage` if the message was never there.
  public func truncate(_ message: MessageID) async throws(DeviceError) {
    _ = try await exchange(.truncate(message))
  }
}

extension Device {
  /// Has the service wake this device by a push, when something comes while it sleeps, or no more.
  ///
  /// An app calls it at every start, as Apple and Google ask for tokens, and acknowledges by ``stored(_:)`` what it has dealt
  /// with: a device that is connected and acknowledges isn't woken. What a wake starts uses the same `installation`.
  ///
  /// - Parameter binding: the address, which replaces the former one, or nil for none.
  /// - Throws: `.service(.noSuchType)` if the service pushes nothing there, and the app does without; `.service(.badField)`,
  ///   `.service(.overQuota)` after too many changes.
  public func wake(at binding: Version2.PushBinding?) async throws(DeviceError) {
    _ = try await exchange(.push(binding))
  }
}
