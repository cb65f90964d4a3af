internal import ApptimistProtocol
internal import Cryptography

/// The boxes around the headers of version 1.
final class Version1Wire: DeviceWire {
  private var channel: HeaderChannel
  private let limits: Frame.Limits

  /// The longest header that a service sends: 32,000 vouchers.
  private static let headerLimit = 38 + 32_000 * EncryptionPublicKey.byteCount

  /// Returns nil if the service's key is of low order.
  init?(_ ephemeral: EncryptionKeyPair, _ service: ServiceIdentity, dataLimit: Int) {
    limits = Frame.Limits(header: Self.headerLimit, data: dataLimit)
    let channel = HeaderChannel(
      own: ephemeral, peer: service.encryptionKey, dataNonce: service.dataNonce)
    guard let channel else { return nil }
    self.channel = channel
  }

  func seal(_ pdu: OutgoingPDU) throws -> [UInt8] {
    guard case .version1(let header, let data) = pdu else { throw ProtocolViolation.malformed }
    return try channel.seal(header, data: data[...])
  }

  func open(_ message: [UInt8]) throws -> IncomingPDU? {
    guard let frame = try? Frame(message, limits: limits), let header = try? channel.open(frame)
    else { throw ProtocolViolation.malformed }
    do throws(PDUError) {
      return .version1(try PDU(decoding: header), data: frame.eData)
    } catch {
      guard case .unknownType = error else { throw ProtocolViolation.malformed }
      return nil
    }
  }
}
