internal import Foundation
internal import TestSupport
internal import Testing
internal import Platform
internal import XMLSecurity

@Suite(.ownThreads) struct KeyInfoTests {
  private func code(_ document: String) throws -> SignatureError.Code? {
    do {
      _ = try SignatureVerifier().verify(XMLDocument(parsing: [UInt8](document.utf8)))
      return nil
    } catch let error as SignatureError {
      return error.code
    }
  }

  /// Returns a signed document with another content of its KeyInfo, which is not signed.
  private func signed(
    by kind: PublicKey.Kind, withCertificate: Bool = false, keyInfo: (String) throws -> String
  ) throws -> String {
    let document = try Fixtures.signed(by: kind, withCertificate: withCertificate)
    let old = try document.part(from: "<ds:KeyInfo>", through: "</ds:KeyInfo>")
    let content = String(old.dropFirst("<ds:KeyInfo>".count).dropLast("</ds:KeyInfo>".count))
    return try document.replacing(old, by: "<ds:KeyInfo>\(keyInfo(content))</ds:KeyInfo>")
  }

  private func x509(_ kinds: PublicKey.Kind...) throws -> String {
    let certificates = try kinds.map {
      let base64 = Data(try Fixtures.certificate($0).der).base64EncodedString(
        options: [.lineLength76Characters])
      return "<ds:X509Certificate>\n\(base64)\n</ds:X509Certificate>"
    }
    return "<ds:X509Data>\(certificates.joined())</ds:X509Data>"
  }

  private func point(of kind: PublicKey.Kind) throws -> (x: [UInt8], y: [UInt8]) {
    let size =
      switch kind {
      case .p521: 66
      case .p384: 48
      default: 32
      }
    let info = try Fixtures.privateKey(kind).publicKey.subjectPublicKeyInfo
    return ([UInt8](info.suffix(2 * size).prefix(size)), [UInt8](info.suffix(size)))
  }

  private func ecdsaKeyValue(
    _ x: [UInt8], _ y: [UInt8], curve: String, attribute: String = "URN"
  ) -> String {
    """
    <ds:KeyValue><e:ECDSAKeyValue xmlns:e="http://www.w3.org/2001/04/xmldsig-more#">\
    <e:DomainParameters><e:NamedCurve \(attribute)="\(curve)"/></e:DomainParameters>\
    <e:PublicKey><e:X>\(Data(x).base64EncodedString())</e:X>\
    <e:Y>\(Data(y).base64EncodedString())</e:Y></e:PublicKey></e:ECDSAKeyValue></ds:KeyValue>
    """
  }

  @Test(arguments: [
    (PublicKey.Kind.p256, "urn:oid:1.2.840.10045.3.1.7"), (.p384, "urn:oid:1.3.132.0.34"),
    (.p521, "urn:oid:1.3.132.0.35"), (.secp256k1, "urn:oid:1.3.132.0.10"),
  ])
  func ecdsaKeys(kind: PublicKey.Kind, curve: String) throws {
    let (x, y) = try point(of: kind)
    for attribute in ["URN", "URI"] {
      let document = try signed(by: kind) { _ in
        ecdsaKeyValue(x, y, curve: curve, attribute: attribute)
      }
      #expect(try verify(document).first?.key == Fixtures.privateKey(kind).publicKey)
    }
    let longer = try signed(by: kind) { _ in ecdsaKeyValue([0, 0] + x, [0] + y, curve: curve) }
    #expect(try code(longer) == nil)
    let swapped = try signed(by: kind) { _ in ecdsaKeyValue(y, x, curve: curve) }
    #expect(try code(swapped) == .key)
    let unknown = try signed(by: kind) { _ in ecdsaKeyValue(x, y, curve: "urn:oid:1.3.132.0.33") }
    #expect(try code(unknown) == .key)
    let both = try signed(by: kind) { _ in
      ecdsaKeyValue(x, y, curve: curve, attribute: "URI=\"\(curve)\" URN")
    }
    #expect(try code(both) == .key)
  }

  /// A coordinate may omit its leading zero byte, which one key in 256 has.
  @Test func shortCoordinate() throws {
    var found: (key: PrivateKey, x: [UInt8], y: [UInt8])?
    while found == nil {
      let made = try DevelopmentKey(.secp256k1, commonName: "x", notBefore: Timestamp(seconds: 0))
      let key = try PrivateKey(pem: made.keyPEM)
      let point = key.publicKey.subjectPublicKeyInfo.suffix(64)
      let (x, y) = ([UInt8](point.prefix(32)), [UInt8](point.suffix(32)))
      if x[0] == 0 || y[0] == 0 { found = (key, x, y) }
    }
    let (key, x, y) = try #require(found)
    let signed = try SignatureWriter(key: key).sign([UInt8]("<a/>".utf8), at: Timestamp(seconds: 0))
    let document = String(decoding: signed, as: UTF8.self)
    let old = try document.part(from: "<ds:KeyValue>", through: "</ds:KeyValue>")
    let short = ecdsaKeyValue(
      [UInt8](x.drop { $0 == 0 }), [UInt8](y.drop { $0 == 0 }), curve: "urn:oid:1.3.132.0.10")
    #expect(try verify(document.replacing(old, by: short)) == verify(document))
  }

  @Test func otherKey() throws {
    let document = try signed(by: .p256) { _ in
      let (x, y) = try point(of: .secp256k1)
      return ecdsaKeyValue(x, y, curve: "urn:oid:1.3.132.0.10")
    }
    #expect(try code(document) == .forged)
    #expect(try code(signed(by: .p256) { _ in try x509(.rsa) }) == .key)
    #expect(try code(signed(by: .p256) { _ in try x509(.secp256k1) }) == .forged)
  }

  @Test func certificateBesideKeyValue() throws {
    #expect(try code(signed(by: .rsa) { try $0 + x509(.rsa) }) == nil)
    #expect(try code(signed(by: .rsa) { try x509(.p256, .rsa) + $0 }) == nil)
    #expect(try code(signed(by: .rsa) { try $0 + x509(.p256) }) == .certificate)
    #expect(try code(signed(by: .secp256k1) { try $0 + x509(.p256) }) == .certificate)
  }

  /// The leaf is the certificate with the signing key, in any order and with repetitions.
  @Test func certificatesInAnyOrder() throws {
    let leaf = try Fixtures.certificate(.p256)
    for order in [[PublicKey.Kind.p256, .secp256k1, .p384], [.secp256k1, .p384, .p256, .p384]] {
      let document = try signed(by: .p256) { _ in
        try order.map { try x509($0) }.joined() + x509(.p256)
      }
      let signature = try #require(try verify(document).first)
      #expect(signature.certificate == leaf)
      #expect(
        try signature.otherCertificates
          == order.reduce(into: []) { list, kind in
            let certificate = try Fixtures.certificate(kind)
            if kind != .p256, !list.contains(certificate) { list.append(certificate) }
          })
    }
  }

  /// Two certificates of one key leave the signer open.
  @Test func twoCertificatesOfOneKey() throws {
    let folder = TemporaryFolder()
    let key = try folder.write("key.pem", Fixtures.key(.p256).keyPEM)
    let pem = try folder.run(
      "openssl", ["req", "-x509", "-new", "-key", key, "-subj", "/CN=other", "-days", "2"])
    let other = try #require(try Certificate.certificates(pem: [UInt8](pem.output.utf8)).first)
    let base64 = Data(other.der).base64EncodedString()
    let document = try signed(by: .p256) { _ in
      try x509(.p256)
        + "<ds:X509Data><ds:X509Certificate>\(base64)</ds:X509Certificate></ds:X509Data>"
    }
    #expect(try code(document) == .certificate)
  }

  /// A key has the same identifier if a certificate holds its point compressed.
  @Test func compressedPoint() throws {
    let folder = TemporaryFolder()
    let key = try folder.write("key.pem", Fixtures.key(.secp256k1).keyPEM)
    let compressed = folder.path + "/compressed.pem"
    _ = try folder.run(
      "openssl", ["ec", "-in", key, "-conv_form", "compressed", "-out", compressed])
    let pem = try folder.run(
      "openssl", ["req", "-x509", "-new", "-key", compressed, "-subj", "/CN=x", "-days", "2"])
    let certificate = try #require(
      try Certificate.certificates(pem: [UInt8](pem.output.utf8)).first)
    #expect(certificate.der.firstRange(of: try point(of: .secp256k1).y) == nil)
    #expect(certificate.key == (try Fixtures.privateKey(.secp256k1).publicKey))
  }

  @Test func weakRSA() throws {
    let folder = TemporaryFolder()
    let pem = try folder.run("openssl", ["genrsa", "1024"]).output
    let key = try folder.write("key.pem", pem)
    let modulus = try folder.run("openssl", ["rsa", "-in", key, "-modulus", "-noout"]).output
    let hex = modulus.split(separator: "=").last?.prefix { $0.isHexDigit } ?? ""
    let bytes = stride(from: 0, to: hex.count, by: 2).compactMap { offset in
      UInt8(hex.dropFirst(offset).prefix(2), radix: 16)
    }
    #expect(bytes.count == 128)
    let document = try signed(by: .rsa) {
      try $0.replacing(
        $0.part(from: "<ds:Modulus>", through: "</ds:Modulus>"),
        by: "<ds:Modulus>\(Data(bytes).base64EncodedString())</ds:Modulus>")
    }
    #expect(try code(document) == .key)
  }

  @Test(arguments: [
    "", "<ds:KeyName>me</ds:KeyName>", "<ds:X509Data/>", "<ds:KeyValue/>",
    "<ds:RetrievalMethod URI=\"#x\" Type=\"http://www.w3.org/2000/09/xmldsig#X509Data\"/>",
    "<d:KeyInfoReference xmlns:d=\"http://www.w3.org/2009/xmldsig11#\" URI=\"#x\"/>",
    "<ds:KeyValue><ds:DSAKeyValue><ds:Y>AA==</ds:Y></ds:DSAKeyValue></ds:KeyValue>",
    "<ds:KeyValue><ds:RSAKeyValue/></ds:KeyValue>",
    "<ds:KeyValue><ds:RSAKeyValue><ds:Modulus>!</ds:Modulus><ds:Exponent>AQAB</ds:Exponent></ds:RSAKeyValue></ds:KeyValue>",
    "<ds:PGPData/>", "<x xmlns=\"urn:x\"/>",
  ])
  func noKey(keyInfo: String) throws {
    #expect(try code(signed(by: .rsa) { _ in keyInfo }) == .key)
    if keyInfo.contains("Retrieval") || keyInfo.contains("Reference") {
      #expect(try code(signed(by: .rsa) { $0 + keyInfo }) == .key)
    }
  }

  @Test(arguments: [
    "<ds:KeyName>me</ds:KeyName>", "<ds:PGPData/>", "<ds:SPKIData/>", "<x xmlns=\"urn:x\"/>",
  ])
  func whatStandsBesideTheKeyIsPassedOver(other: String) throws {
    #expect(try code(signed(by: .rsa) { $0 + other }) == nil)
    #expect(try code(signed(by: .rsa) { other + $0 }) == nil)
  }

  @Test(arguments: ["", "!", "AAAA", "MIIB"])
  func noCertificate(base64: String) throws {
    let document = try signed(by: .rsa) {
      $0 + "<ds:X509Data><ds:X509Certificate>\(base64)</ds:X509Certificate></ds:X509Data>"
    }
    #expect(try code(document) == .certificate)
  }

  @Test func truncatedCertificate() throws {
    let der = try Fixtures.certificate(.p256).der
    for length in stride(from: 0, to: der.count, by: 7) {
      #expect(throws: CertificateError.self) { try Certificate(der: [UInt8](der[..<length])) }
    }
    #expect(throws: CertificateError.self) { try Certificate(der: der + [0]) }
    #expect(try Certificate(der: der) == Fixtures.certificate(.p256))
  }
}
