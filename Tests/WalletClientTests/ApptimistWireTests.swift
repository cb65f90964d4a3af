internal import ApptimistProtocol
internal import Cryptography
internal import Testing

@testable import WalletClient

/// The device's boxes of version 2 against the service's.
@Suite struct ApptimistWireTests {
  private let encryption = EncryptionKeyPair.generate()
  private let authentication = AuthenticationKeyPair.generate()
  private let ephemeral = EncryptionKeyPair.generate()
  private let node = EncryptionKeyPair.generate()
  private let hello = Version2.Hello(time: 1, headerMax: 2, dataMax: 3, pageMax: 4)

  private var identity: ServiceIdentity {
    ServiceIdentity(encryption: encryption, authentication: authentication)
  }

  private func handshake(_ offer: Version2.VersionOffer = .version2) -> Version2.Handshake {
    Version2.Handshake(
      with: identity, device: ephemeral.publicKey, service: node.publicKey, offer: offer)
  }

  private struct NoChannel: Error {}

  private func greeting(_ offer: Version2.VersionOffer = .version2) throws -> [UInt8] {
    guard var channel = handshake(offer).serviceChannel(encryption, node) else { throw NoChannel() }
    return channel.seal(.hello(hello), behind: node.publicKey)
  }

  @Test func greets() throws {
    let wire = Version2Wire(ephemeral, identity)
    #expect(throws: ProtocolViolation.self) {
      try wire.seal(.version2(Version2.DevicePDU(request: 1, .pause)))
    }
    guard case .hello(let handshake, let hello)? = try wire.open(try greeting()) else {
      Issue.record("no hello")
      return
    }
    #expect(handshake == self.handshake() && hello == self.hello)
    _ = try wire.seal(.version2(Version2.DevicePDU(request: 1, .pause)))
    #expect(throws: ProtocolViolation.self) { try wire.seal(.version1(.pause(PDU.Pause()))) }
  }

  /// Cut or changed anywhere, it is not the service's.
  @Test func aGreetingThatWasTamperedWith() throws {
    let greeting = try greeting()
    for index in greeting.indices {
      var changed = greeting
      changed[index] ^= 0x40
      for message in [changed, Array(greeting[..<index])] {
        #expect(throws: ProtocolViolation.otherService) {
          try Version2Wire(ephemeral, identity).open(message)
        }
      }
    }
    // A version was struck out on the way.
    let other = try self.greeting(try #require(Version2.VersionOffer([2, 3])))
    #expect(throws: ProtocolViolation.otherService) {
      try Version2Wire(ephemeral, identity).open(other)
    }
  }

  @Test func aFrameThatWasTamperedWith() throws {
    guard var channel = handshake().serviceChannel(encryption, node) else { throw NoChannel() }
    let greeting = channel.seal(.hello(hello), behind: node.publicKey)
    let truncation = channel.seal(.truncate(MessageID(), at: 5))
    for index in truncation.indices {
      var changed = truncation
      changed[index] ^= 1
      for message in [changed, Array(truncation[..<index]), greeting] {
        let wire = Version2Wire(ephemeral, identity)
        _ = try wire.open(greeting)
        #expect(throws: ProtocolViolation.malformed) { try wire.open(message) }
      }
    }
    let wire = Version2Wire(ephemeral, identity)
    _ = try wire.open(greeting)
    guard case .version2(.truncate(_, at: 5), _)? = try wire.open(truncation) else {
      Issue.record("no truncation")
      return
    }
    // The same box again.
    #expect(throws: ProtocolViolation.malformed) { try wire.open(truncation) }
  }
}
