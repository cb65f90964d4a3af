public import Cryptography

internal import FoundationEssentials

/// The document that a service publishes as `service.json` (page "Keys and nonces").
public struct ServiceDocument: Hashable, Sendable, Encodable {
  /// The service's name, `siren` for example.
  public let service: String
  /// The service's public keys.
  public let identity: ServiceIdentity
  /// The versions of the protocol that it speaks.
  public let versions: [Int]
  /// The service's signature over its encryption key and ``versions``; nil if it speaks version 1 alone.
  public let versionsSignature: Signature?
  /// The names of the kinds of push addresses that it wakes devices at; nil if none.
  public let push: [String]?
  /// The point that browsers subscribe with, in hexadecimal digits.
  public let pushKey: String?

  /// Makes the document of a service that speaks version 1 alone.
  public init(service: String, identity: ServiceIdentity) {
    self.service = service
    self.identity = identity
    versions = [Int(PDU.version)]
    versionsSignature = nil
    push = nil
    pushKey = nil
  }

  /// Makes the document of a service that speaks versions 1 and 2.
  ///
  /// - Parameters:
  ///   - push: the names of the kinds of push addresses that it wakes devices at.
  ///   - pushKey: the point that browsers subscribe with, in hexadecimal digits.
  public init(
    service: String, identity: ServiceIdentity, signedWith authentication: AuthenticationKeyPair,
    push: [String]? = nil, pushKey: String? = nil
  ) {
    self.push = push
    self.pushKey = pushKey
    let versions = [PDU.version, Version2.number]
    self.service = service
    self.identity = identity
    self.versions = versions.map(Int.init)
    versionsSignature = authentication.sign(
      Version2.service(identity.encryptionKey, speaks: versions))
  }

  /// Reads a document and ignores members that it does not know.
  ///
  /// - Parameter json: the document, whose length the caller has limited.
  /// - Throws: `.malformed`; `.wrongSignature` if the keys do not belong together, or the versions are not the service's.
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
    push = members.push
    pushKey = members.pushKey
    versionsSignature = try members.signature2.map { hex throws(ServiceDocumentError) in
      guard let signature = Signature(hex: hex) else { throw .malformed }
      let versions = members.versions.compactMap(UInt8.init(exactly:))
      guard versions.count == members.versions.count,
        authenticationKey.verifies(
          signature, over: Version2.service(encryptionKey, speaks: versions))
      else { throw .wrongSignature }
      return signature
    }
  }

  /// Writes the document as JSON, on one line.
  public func json() throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return [UInt8](try encoder.encode(self))
  }

  /// Writes the members.
  ///
  /// - Throws: the encoder's error.
  public func encode(to encoder: any Encoder) throws {
    try Members(
      service: service, encryptionKey: identity.encryptionKey.hex,
      authenticationKey: identity.authenticationKey.hex, signature: identity.signature.hex,
      versions: versions, signature2: versionsSignature?.hex, push: push, pushKey: pushKey
    ).encode(to: encoder)
  }

  private struct Members: Codable {
    let service: String
    let encryptionKey: String
    let authenticationKey: String
    let signature: String
    let versions: [Int]
    let signature2: String?
    let push: [String]?
    let pushKey: String?
  }
}

/// The reason for which a service's document is not accepted.
public enum ServiceDocumentError: Error, Hashable, Sendable {
  /// It is no JSON, or lacks members that it must have.
  case malformed
  /// A signature is not the authentication key's.
  case wrongSignature
}

/// The public half of a service's keys, which devices have to know beforehand (page "Keys and nonces"),
/// with the signature that ties them together.
public struct ServiceIdentity: Hashable, Sendable {
  /// The key for the boxes around headers and the data of files.
  public let encryptionKey: EncryptionPublicKey
  /// The key with which ``signature`` is verified.
  public let authenticationKey: AuthenticationPublicKey
  /// The service's signature over ``encryptionKey``.
  public let signature: Signature

  /// Takes an identity that is known.
  ///
  /// - Returns: nil if the signature is not valid, or the encryption key is of low order.
  public init?(
    encryptionKey: EncryptionPublicKey, authenticationKey: AuthenticationPublicKey,
    signature: Signature
  ) {
    guard !encryptionKey.isLowOrder,
      authenticationKey.verifies(signature, over: encryptionKey)
    else { return nil }
    self.encryptionKey = encryptionKey
    self.authenticationKey = authenticationKey
    self.signature = signature
  }

  /// Makes the public half of a service's own pairs.
  public init(encryption: EncryptionKeyPair, authentication: AuthenticationKeyPair) {
    encryptionKey = encryption.publicKey
    authenticationKey = authentication.publicKey
    signature = authentication.sign(encryption.publicKey)
  }

  /// The nonce of every data box: the first 24 bytes of ``signature``.
  public var dataNonce: BoxNonce { BoxNonce(prefixOf: signature) }
}
