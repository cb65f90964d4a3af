internal import ApptimistProtocol
internal import Cryptography

/// The boxes of version 2, from its handshake on.
final class Version2Wire: DeviceWire {
  private let service: ServiceIdentity
  /// The ephemeral pair, until the keys are made.
  private var ephemeral: EncryptionKeyPair?
  private var channel: Version2.Channel?

  init(_ ephemeral: EncryptionKeyPair, _ service: ServiceIdentity) {
    self.ephemeral = ephemeral
    self.service = service
  }

  func seal(_ pdu: OutgoingPDU) throws -> [UInt8] {
    guard case .version2(let header, let data) = pdu,
      let message = channel?.seal(header, data: data)
    else { throw ProtocolViolation.malformed }
    return message
  }

  func open(_ message: [UInt8]) throws -> IncomingPDU? {
    if let ephemeral { return try greeting(message, ephemeral) }
    guard let (pdu, data) = try? open(message[...]) else { throw ProtocolViolation.malformed }
    return pdu.map { .version2($0, data: data) }
  }

  /// Only who has the service's secret key can make the first message.
  private func greeting(_ message: [UInt8], _ ephemeral: EncryptionKeyPair) throws -> IncomingPDU {
    self.ephemeral = nil
    guard let first = Version2.FirstMessage(message) else { throw ProtocolViolation.otherService }
    let handshake = Version2.Handshake(
      with: service, device: ephemeral.publicKey, service: first.service, offer: .version2)
    channel = handshake.deviceChannel(ephemeral, with: service)
    guard case .hello(let hello)? = try? open(first.box).pdu else {
      throw ProtocolViolation.otherService
    }
    return .hello(handshake, hello)
  }

  private func open(
    _ box: ArraySlice<UInt8>
  ) throws -> (pdu: Version2.ServicePDU?, data: ArraySlice<UInt8>) {
    guard let bytes = channel?.open(box) else { throw ProtocolViolation.malformed }
    let frame = try Version2.ClearFrame(bytes, limits: nil)
    return (try Version2.ServicePDU.decode(frame.header), frame.data)
  }
}
