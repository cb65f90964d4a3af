internal import Platform
internal import XMLSecurity

/// The fictitious signers of the demo, whose keys are made at the first start.
enum DemoSigner: String, CaseIterable, Sendable {
  /// The signer of most files, with an RSA key and a certificate.
  case demo
  /// The second signer of one contract, with a P-256 key and a certificate.
  case guild
  /// A signer with a bare Ethereum key.
  case owner

  /// The common name of the certificate, or nil without one.
  var commonName: String? { self == .owner ? nil : "\(rawValue).awd.example" }

  /// The kind of the key.
  var kind: PublicKey.Kind {
    switch self {
    case .demo: .rsa
    case .guild: .p256
    case .owner: .secp256k1
    }
  }

  /// Makes the key, and the certificate if the signer has one.
  ///
  /// - Parameters:
  ///   - folder: the folder for both.
  ///   - now: the present time.
  /// - Throws: ``SigningError``, ``SystemError``.
  func makeKey(in folder: String, now: Timestamp) throws {
    let key = try DevelopmentKey(kind, commonName: commonName ?? rawValue, notBefore: now)
    try DurableFile.create(keyPath(in: folder), key.keyPEM, mode: 0o600)
    if commonName != nil { try DurableFile.create(certificatePath(in: folder), key.certificatePEM) }
  }

  /// Makes a writer of signatures with the key.
  ///
  /// - Parameter folder: the folder of the key.
  /// - Throws: ``SigningError``, ``CertificateError``, ``SystemError``.
  func writer(from folder: String) throws -> SignatureWriter {
    let key = try PrivateKey(pem: Descriptor.contents(ofFile: keyPath(in: folder)))
    let path = certificatePath(in: folder)
    let certificates =
      try commonName == nil ? [] : Certificate.certificates(pem: Descriptor.contents(ofFile: path))
    return try SignatureWriter(key: key, certificates: certificates)
  }

  private func keyPath(in folder: String) -> String { "\(folder)/\(rawValue).key.pem" }
  private func certificatePath(in folder: String) -> String { "\(folder)/\(rawValue).cert.pem" }
}
