internal import Cryptography
internal import FoundationEssentials

/// The document that a service publishes as `service.json` (page "Keys and nonces").
public struct ServiceDocument: Hashable, Sendable, Encodable {
  /// The service's name, `siren` for example.
  public let service: String
  /// The service's public keys.
  public let identity: ServiceIdentity
  /// The versions of the protocol that it speaks.
  public let versions: [Int]

  /// Makes the document of a service that speaks this library's version.
  public init(service: String, identity: ServiceIdentity) {
    self.service = service
    self.identity = identity
    versions = [Int(PDU.version)]
  }

  /// Reads a document and ignores other members than those of version 1.
  ///
  /// - Parameter json: the document, whose length the caller has limited.
  /// - Throws: `.malformed`; `.wrongSignature` if the keys do not belong together.
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

  /// Writes the document as JSON, on one line.
  public func json() throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return [UInt8](try encoder.encode(self))
  }

  /// Writes the members of version 1.
  ///
  /// - Throws: the encoder's error.
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

/// The reason for which a service's document is not accepted.
public enum ServiceDocumentError: Error, Hashable, Sendable {
  /// It is no JSON, or lacks members that it must have.
  case malformed
  /// The signature is not the authentication key's over the encryption key.
  case wrongSignature
}
