public import ApptimistProtocol
public import Cryptography
internal import Glibc

extension Device {
  /// Boxes a message for a user or a forum, to be sent now or later.
  ///
  /// An app keeps it until it was sent: to send it again is safe, as often as need be. Two messages with the same
  /// data to the same recipient in the same second are one for the service: put something into the data that tells
  /// them apart.
  ///
  /// - Parameters:
  ///   - data: any content, the app's own format.
  ///   - recipient: a user or a forum.
  ///   - time: seconds since 1970; nil: now.
  /// - Throws: `.unsendable` if it is longer than ``DeviceOptions/dataLimit`` or the key is of low order.
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
  /// It survives reconnections: sent twice it is queued once. For a forum that says nothing of whether the user may
  /// post there: what the service ignores it ignores silently.
  ///
  /// - Parameter message: made by ``seal(_:to:time:)``.
  /// - Throws: `.unknownUser`; `.timedOut` or `.cancelled`, after which it may be delivered or not: send it again.
  public func send(_ message: OutgoingMessage) async throws(DeviceError) {
    let answer = try await ask(
      DeviceRequest(.message(message.header), data: message.box, then: message.to))
    if answer == .users([]) { throw .unknownUser }
  }

  /// Opens a message that came.
  ///
  /// What the service could open, as it holds the forum's secret, it has boxed for the user. What it couldn't
  /// comes as its author boxed it for the forum: then the forum's keys are needed.
  ///
  /// - Parameters:
  ///   - message: one of ``entries``.
  ///   - forum: the pair of the forum that it was written to, if the user has it.
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
  /// - Throws: `.unknownMessage` if it was never there.
  public func truncate(_ message: MessageID) async throws(DeviceError) {
    let parts = [
      DeviceRequest.Part(pdu: .truncate(PDU.Truncate(message: message))),
      DeviceRequest.Part(pdu: .searchByKey(PDU.SearchByKey(key: user))),
    ]
    let answer = try await ask(DeviceRequest(parts, expecting: .truncation(message, user)))
    if answer != .truncated(true) { throw .unknownMessage }
  }
}
