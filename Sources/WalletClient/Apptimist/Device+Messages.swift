public import ApptimistProtocol
public import Cryptography
internal import Glibc

extension Device {
  /// Boxes a message for a user or a forum, to be sent now or later.
  ///
  /// An app keeps the message until it was sent: sending it again is safe, any number of times. Two messages with the
  /// same data to the same recipient in the same second are one for the service: put something into the data that tells
  /// them apart.
  ///
  /// - Parameters:
  ///   - data: any content, in the app's own format.
  ///   - recipient: a user or a forum.
  ///   - time: seconds since 1970, or nil for now.
  /// - Throws: `.unsendable` if the data is longer than ``DeviceOptions/dataLimit`` or the key is of low order.
  public nonisolated func seal(
    _ data: [UInt8], to recipient: EncryptionPublicKey, time seconds: UInt64? = nil
  ) throws(DeviceError) -> OutgoingMessage {
    guard data.count <= options.dataLimit, let key = BoxKey(own: keys.encryption, peer: recipient)
    else { throw .unsendable }
    let header = PDU.Message(
      time: seconds ?? UInt64(max(0, time(nil))), recipient: recipient, to: recipient,
      from: user)
    return OutgoingMessage(header, box: key.seal(data, nonce: service.dataNonce))
  }

  /// Sends a message, and waits until the service has it on disk.
  ///
  /// The message survives reconnections: sent twice it is queued once. For a forum, success doesn't tell that the user
  /// may post there: the service ignores other posts silently.
  ///
  /// - Parameter message: a message that ``seal(_:to:time:)`` made.
  /// - Throws: `.unknownUser`; `.timedOut` or `.cancelled`, after which the message may be delivered or not: send it
  ///   again.
  public func send(_ message: OutgoingMessage) async throws(DeviceError) {
    let reply = try await ask(
      DeviceRequest(.message(message.header), data: message.box, then: message.to))
    if reply == .users([]) { throw .unknownUser }
  }

  /// Opens a message that came.
  ///
  /// If the service holds the forum's secret, it has boxed the message for the user. Otherwise the message comes as its
  /// author boxed it for the forum: then the forum's keys are needed.
  ///
  /// - Parameters:
  ///   - message: one of ``entries``.
  ///   - forum: the pair of the forum that the message was written to, if the user has it.
  /// - Returns: the data.
  /// - Throws: `.doesNotOpen`.
  public nonisolated func open(
    _ message: DeviceMessage, forum: EncryptionKeyPair? = nil
  ) throws(DeviceError) -> [UInt8] {
    // Between two keys there is one box key: it doesn't matter who wrote.
    var pairs = [(keys.encryption, message.to == user ? message.from : message.to)]
    if let forum, forum.publicKey == message.to { pairs.append((forum, message.from)) }
    for (own, peer) in pairs {
      let data = BoxKey(own: own, peer: peer)?.open(message.box, nonce: service.dataNonce)
      if let data { return data }
    }
    throw .doesNotOpen
  }

  /// Has a message's content deleted from the user's queue, and the user's other devices told.
  ///
  /// - Parameter message: a message of the user's stream.
  /// - Throws: `.unknownMessage` if the message was never there.
  public func truncate(_ message: MessageID) async throws(DeviceError) {
    let parts = [
      DeviceRequest.Part(pdu: .truncate(PDU.Truncate(message: message))),
      DeviceRequest.Part(pdu: .searchByKey(PDU.SearchByKey(key: user))),
    ]
    let reply = try await ask(DeviceRequest(parts, expecting: .truncation(message, user)))
    if reply != .truncated(true) { throw .unknownMessage }
  }
}
