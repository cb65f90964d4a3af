internal import Cryptography
internal import FoundationEssentials

/// What a service publishes as `service.json` (page "Keys and nonces").
public struct ServiceDocument: Hashable, Sendable, Encodable {
  /// The service's name, `siren` for example.
  public let service: String
  /// The keys.
  public let identity: ServiceIdentity
  /// The versions of the protocol that it speaks.
  public let versions: [Int]

  /// The document of a service that speaks what this library does.
  public init(service: String, identity: ServiceIdentity) {
    self.service = service
    self.identity = identity
    versions = [Int(PDU.version)]
  }

  /// Reads a document. Other members than those of version 1 are passed over.
  ///
  /// - Parameter json: of a length that the caller has limited.
  /// - Throws: `.malformed`; `.wrongSignature` if the keys don't belong together.
  public init(json: [UInt8]) throws(ServiceDocumentError) {
    guard let members = try? JSONDecoder().decode(Members.self, from: Data(json)),
      let encryptionKey = EncryptionPublicKey(hex: members.encryptionKey),
      let authenticationKey = AuthenticationPublicKey(hex: members.authenticationKey),
      let signature = Signature(hex: members.signature)
    else { throw .malformed }
    let identity = ServiceIdentity(
      encryptionKey: encryptionKey, authenticationKey: authenticationKey, signature: signature)
    guard let identity else { throw .wrongSignature }
    service = members.service
    self.identity = identity
    versions = members.versions
  }

  /// The document as JSON, on one line.
  public func json() throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return [UInt8](try encoder.encode(self))
  }

  /// Writes the members of version 1.
  ///
  /// - Throws: what the encoder throws.
  public func encode(to encoder: any Encoder) throws {
    try Members(
      service: service, encryptionKey: identity.encryptionKey.hex,
      authenticationKey: identity.authenticationKey.hex, signature: identity.signature.hex,
      versions: versions
    ).encode(to: encoder)
  }

  private struct Members: Codable {
    let service: String
    let encryptionKey: String
    let authenticationKey: String
    let signature: String
    let versions: [Int]
  }
}

/// Why a service's document is not taken.
public enum ServiceDocumentError: Error, Hashable, Sendable {
  /// No JSON, or without the members that it must have.
  case malformed
  /// The signature isn't the authentication key's over the encryption key.
  case wrongSignature
}
