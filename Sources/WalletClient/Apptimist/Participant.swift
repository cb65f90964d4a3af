internal import ApptimistProtocol
internal import Cryptography

/// A user at a service: all that a request's proofs and boxes are made of.
struct Participant: Sendable {
  let keys: DeviceKeys
  let service: ServiceIdentity
  /// The key of version 1's boxes around files.
  private let box: BoxKey

  /// Returns nil if the service's key is the user's.
  init?(_ keys: DeviceKeys, at service: ServiceIdentity) {
    guard keys.user != service.encryptionKey,
      let box = BoxKey(own: keys.encryption, peer: service.encryptionKey)
    else { return nil }
    (self.keys, self.service, self.box) = (keys, service, box)
  }

  var user: EncryptionPublicKey { keys.user }

  /// Makes version 1's box around a file.
  func seal(file content: [UInt8]) -> [UInt8] { box.seal(content, nonce: service.dataNonce) }

  /// Opens version 1's box around a file, or the words of an error.
  func open(file box: [UInt8]) -> [UInt8]? { self.box.open(box, nonce: service.dataNonce) }
}
