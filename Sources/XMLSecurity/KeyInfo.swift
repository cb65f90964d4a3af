internal import Cryptography

/// The keys and certificates of a KeyInfo element.
///
/// It is read here because libxmlsec1 1.2 reads neither ECKeyValue nor ECDSAKeyValue, and does not tell which of several
/// certificates holds the signing key.
struct KeyInfo {
  /// The key of the KeyValue, or nil.
  let key: PublicKey?
  /// The certificates, each once, in document order.
  let certificates: [Certificate]

  // Real chains have two to four certificates.
  private static let maximumCertificates = 16
  private static let unfollowed: Set<String> = [
    "RetrievalMethod", "KeyInfoReference", "EncryptedKey", "DerivedKey", "AgreementMethod",
  ]
  // OpenSSL verifies with no larger RSA keys either.
  private static let maximumModulus = 2048
  private static let maximumExponent = 8

  /// Reads a KeyInfo.
  init(_ element: XMLElement, _ known: CertificateCache) throws(SignatureError) {
    var keys: Set<[UInt8]> = []
    var certificates: [Certificate] = []
    for part in element.children {
      // What says where or how to get the key may mean another one. All else beside the key is passed over.
      guard !Self.unfollowed.contains(part.name) else {
        throw SignatureError(.key, "KeyInfo holds “\(part.name)”, which is not read")
      }
      guard part.namespace == Algorithm.signature else { continue }
      switch part.name {
      case "KeyValue": keys.insert(try Self.publicKey(in: part))
      case "X509Data":
        for item in part.children(named: "X509Certificate", in: Algorithm.signature) {
          let next = try Self.certificate(in: item, known)
          if certificates.contains(next) { continue }
          certificates.append(next)
          guard certificates.count <= Self.maximumCertificates else {
            throw SignatureError(.certificate, "more than \(Self.maximumCertificates) certificates")
          }
        }
      default: break
      }
    }
    guard keys.count <= 1 else { throw SignatureError(.key, "KeyInfo holds different keys") }
    guard !keys.isEmpty || !certificates.isEmpty else {
      throw SignatureError(.key, "KeyInfo holds neither a key nor a certificate")
    }
    key = try keys.first.map { info throws(SignatureError) in
      // OpenSSL 3 takes long to read a key, so the key of a certificate is not read again.
      if let known = certificates.lazy.compactMap(\.key).first(where: {
        $0.subjectPublicKeyInfo == info
      }) {
        return known
      }
      return try Self.key(info)
    }
    self.certificates = certificates
  }

  private static func certificate(
    in element: XMLElement, _ known: CertificateCache
  ) throws(SignatureError) -> Certificate {
    do throws(CertificateError) {
      if let certificate = try known.certificate(in: element) { return certificate }
    } catch { throw SignatureError(.certificate, "line \(element.line): \(error)") }
    throw SignatureError(.certificate, "line \(element.line): not a certificate in DER and base64")
  }

  private static func key(_ info: [UInt8]) throws(SignatureError) -> PublicKey {
    guard let key = EVPKey(subjectPublicKeyInfo: info) else {
      throw SignatureError(.key, "KeyValue holds numbers that are no key")
    }
    guard let publicKey = PublicKey(key) else {
      throw SignatureError(.key, "RSA of \(key.bits) bits; at least 2048 are needed")
    }
    return publicKey
  }

  /// Encodes the key of a KeyValue as SubjectPublicKeyInfo.
  private static func publicKey(in element: XMLElement) throws(SignatureError) -> [UInt8] {
    let values = element.children
    guard values.count == 1 else { throw SignatureError(.key, "KeyValue must hold one key") }
    let info: [UInt8]?
    switch (values[0].namespace, values[0].name) {
    case (Algorithm.signature, "RSAKeyValue"): info = rsaKey(values[0])
    case (Algorithm.signature11, "ECKeyValue"): info = ecKey(values[0])
    case (Algorithm.signatureMore, "ECDSAKeyValue"): info = ecdsaKey(values[0])
    default: throw SignatureError(.key, "a key of kind “\(values[0].name)” is not accepted")
    }
    guard let info else {
      throw SignatureError(.key, "line \(values[0].line): \(values[0].name) is not a key")
    }
    return info
  }

  private static func rsaKey(_ element: XMLElement) -> [UInt8]? {
    guard
      let modulus = element.child(named: "Modulus", in: Algorithm.signature)?.base64,
      let exponent = element.child(named: "Exponent", in: Algorithm.signature)?.base64,
      modulus.count <= maximumModulus, exponent.count <= maximumExponent
    else { return nil }
    return DER.rsaKey(modulus: modulus, exponent: exponent)
  }

  /// Encodes an ECKeyValue (XML Signature 1.1, section 4.5.2.3).
  private static func ecKey(_ element: XMLElement) -> [UInt8]? {
    let namespace = Algorithm.signature11
    guard
      let curve = element.child(named: "NamedCurve", in: namespace).flatMap({ curve($0, ["URI"]) }),
      let point = element.child(named: "PublicKey", in: namespace)?.base64,
      point.count == 1 + 2 * curve.coordinateSize, point[0] == 0x04
    else { return nil }
    return DER.curveKey(curve, point: point)
  }

  /// Encodes an ECDSAKeyValue (RFC 4050) in the form that wallets use: the coordinates are base64 of big-endian bytes,
  /// perhaps without leading zeros, and the curve's name is in `URN` or in `URI`.
  private static func ecdsaKey(_ element: XMLElement) -> [UInt8]? {
    let namespace = Algorithm.signatureMore
    guard
      let curve = element.child(named: "DomainParameters", in: namespace)?
        .child(named: "NamedCurve", in: namespace).flatMap({ curve($0, ["URN", "URI"]) }),
      let point = element.child(named: "PublicKey", in: namespace),
      let x = point.child(named: "X", in: namespace).flatMap({ coordinate($0, of: curve) }),
      let y = point.child(named: "Y", in: namespace).flatMap({ coordinate($0, of: curve) })
    else { return nil }
    return DER.curveKey(curve, point: [0x04] + x + y)
  }

  private static func coordinate(_ element: XMLElement, of curve: PublicKey.Kind) -> [UInt8]? {
    guard let digits = element.base64?.drop(while: { $0 == 0 }),
      digits.count <= curve.coordinateSize
    else { return nil }
    return Array(repeating: 0, count: curve.coordinateSize - digits.count) + digits
  }

  private static func curve(_ element: XMLElement, _ attributes: [String]) -> PublicKey.Kind? {
    let names = attributes.compactMap { element.attribute($0) }
    guard names.count == 1 else { return nil }
    return PublicKey.Kind.allCases.first { $0.urn == names[0] }
  }
}
