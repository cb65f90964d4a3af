internal import SystemCalls
internal import XMLSecurity

/// Who signs the demo: names of nobody, with keys made at the first start.
enum DemoSigner: String, CaseIterable, Sendable {
  /// Signs nearly all, with an RSA key and a certificate.
  case demo
  /// Signs what another has signed as well, with a P-256 key and a certificate.
  case guild
  /// Signs with a key as Ethereum has them, without a certificate.
  case owner

  /// The common name of the certificate; nil without one.
  var commonName: String? {
    switch self {
    case .demo, .guild: "\(rawValue).awd.example"
    case .owner: nil
    }
  }

  /// The kind of the key.
  var kind: SigningKey.Kind {
    switch self {
    case .demo: .rsa
    case .guild: .p256
    case .owner: .secp256k1
    }
  }

  /// Makes the key, and its certificate where it has one.
  ///
  /// - Parameters:
  ///   - folder: where both are written.
  ///   - now: the time, in seconds since 1970.
  /// - Throws: ``SigningError``, ``SystemError``.
  func makeKey(in folder: String, now: Int64) throws {
    let key = try DevelopmentKey(kind, commonName: commonName ?? rawValue, notBefore: now)
    try DurableFile.create(keyPath(in: folder), key.keyPEM, mode: 0o600)
    if commonName != nil {
      try DurableFile.create(certificatePath(in: folder), key.certificatePEM)
    }
  }

  /// What signs with the key.
  ///
  /// - Parameter folder: where it was written.
  /// - Throws: ``SigningError``, ``CertificateError``, ``SystemError``.
  func writer(from folder: String) throws -> SignatureWriter {
    let key = try PrivateKey(pem: Self.contents(keyPath(in: folder)))
    guard commonName != nil else { return try SignatureWriter(key: key) }
    let certificates = try Certificate.certificates(
      pem: Self.contents(certificatePath(in: folder)))
    return try SignatureWriter(key: key, certificates: certificates)
  }

  private func keyPath(in folder: String) -> String { "\(folder)/\(rawValue).key.pem" }
  private func certificatePath(in folder: String) -> String { "\(folder)/\(rawValue).cert.pem" }

  private static func contents(_ path: String) throws(SystemError) -> [UInt8] {
    try Descriptor.contents(ofFile: path, limit: 1 << 20)
  }
}
