/// The keys and certificates that a KeyInfo names.
///
/// libxmlsec1 1.2 reads neither ECKeyValue nor ECDSAKeyValue, and what it makes of several
/// certificates is not what matters here: which of them holds the key that signed.
struct KeyInfo {
  /// The key of a KeyValue.
  let key: SigningKey?
  /// The certificates, each once, in document order.
  let certificates: [Certificate]

  /// A chain is two to four certificates.
  private static let maximumCertificates = 16

  init(_ element: XMLElement) throws(SignatureError) {
    var keys: Set<SigningKey> = []
    var certificates: [Certificate] = []
    for part in element.children {
      guard part.namespace == Algorithm.signature else {
        throw SignatureError(.key, "KeyInfo holds “\(part.name)”, which is not read")
      }
      switch part.name {
      case "KeyName", "MgmtData": break
      case "KeyValue": keys.insert(try Self.key(in: part))
      case "X509Data":
        for item in part.children(named: "X509Certificate", in: Algorithm.signature) {
          let certificate = try Self.certificate(in: item)
          if !certificates.contains(certificate) { certificates.append(certificate) }
          guard certificates.count <= Self.maximumCertificates else {
            throw SignatureError(
              .certificate, "more than \(Self.maximumCertificates) certificates")
          }
        }
      default: throw SignatureError(.key, "KeyInfo holds “\(part.name)”, which is not read")
      }
    }
    guard keys.count <= 1 else { throw SignatureError(.key, "KeyInfo holds different keys") }
    guard !keys.isEmpty || !certificates.isEmpty else {
      throw SignatureError(.key, "KeyInfo holds neither a key nor a certificate")
    }
    key = keys.first
    self.certificates = certificates
  }

  private static func certificate(in element: XMLElement) throws(SignatureError) -> Certificate {
    guard let der = element.base64 else {
      throw SignatureError(.certificate, "line \(element.line): a certificate is not base64")
    }
    do {
      return try Certificate(der: der)
    } catch {
      throw SignatureError(.certificate, "line \(element.line): \(error.message)")
    }
  }

  private static func key(in element: XMLElement) throws(SignatureError) -> SigningKey {
    let values = element.children
    guard values.count == 1 else {
      throw SignatureError(.key, "KeyValue must hold one key")
    }
    let key: EVPKey?
    switch (values[0].namespace, values[0].name) {
    case (Algorithm.signature, "RSAKeyValue"): key = rsaKey(values[0])
    case (Algorithm.signature11, "ECKeyValue"): key = ecKey(values[0])
    case (Algorithm.signatureMore, "ECDSAKeyValue"): key = ecdsaKey(values[0])
    default: throw SignatureError(.key, "a key of kind “\(values[0].name)” is not accepted")
    }
    guard let key else {
      throw SignatureError(.key, "line \(values[0].line): \(values[0].name) is not a key")
    }
    guard let signingKey = SigningKey(key) else {
      throw SignatureError(.key, "RSA of \(key.bits) bits; at least 2048 are needed")
    }
    return signingKey
  }

  private static func rsaKey(_ element: XMLElement) -> EVPKey? {
    guard
      let modulus = element.child(named: "Modulus", in: Algorithm.signature)?.base64,
      let exponent = element.child(named: "Exponent", in: Algorithm.signature)?.base64
    else { return nil }
    return EVPKey(modulus: modulus, exponent: exponent)
  }

  /// The form of XML Signature 1.1, section 4.5.2.3.
  private static func ecKey(_ element: XMLElement) -> EVPKey? {
    let namespace = Algorithm.signature11
    guard
      let curve = element.child(named: "NamedCurve", in: namespace).flatMap({ curve($0, ["URI"]) }),
      let point = element.child(named: "PublicKey", in: namespace)?.base64,
      point.count == 1 + 2 * curve.coordinateSize, point[0] == 0x04
    else { return nil }
    return EVPKey(curve: curve, point: point)
  }

  /// The form of RFC 4050 as it is found in the field: the coordinates are base64 text, big-endian,
  /// and may lack zeros in front; the curve's name stands in `URN` or in `URI`.
  private static func ecdsaKey(_ element: XMLElement) -> EVPKey? {
    let namespace = Algorithm.signatureMore
    guard
      let curve = element.child(named: "DomainParameters", in: namespace)?
        .child(named: "NamedCurve", in: namespace).flatMap({ curve($0, ["URN", "URI"]) }),
      let point = element.child(named: "PublicKey", in: namespace),
      let x = point.child(named: "X", in: namespace).flatMap({ coordinate($0, of: curve) }),
      let y = point.child(named: "Y", in: namespace).flatMap({ coordinate($0, of: curve) })
    else { return nil }
    return EVPKey(curve: curve, point: [0x04] + x + y)
  }

  private static func coordinate(
    _ element: XMLElement, of curve: SigningKey.Kind
  ) -> [UInt8]? {
    guard let digits = element.base64?.drop(while: { $0 == 0 }),
      digits.count <= curve.coordinateSize
    else { return nil }
    return Array(repeating: 0, count: curve.coordinateSize - digits.count) + digits
  }

  private static func curve(_ element: XMLElement, _ attributes: [String]) -> SigningKey.Kind? {
    let names = attributes.compactMap { element.attribute($0) }
    guard names.count == 1 else { return nil }
    return SigningKey.Kind.allCases.first { $0.urn == names[0] }
  }
}
