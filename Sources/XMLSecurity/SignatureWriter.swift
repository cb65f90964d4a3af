internal import COpenSSL
internal import Cryptography
public import Platform

/// Adds enveloped signatures with a signing time to documents (XML Signature 1.1, XAdES).
///
/// A signature covers the whole document with its earlier signatures, and its own SigningTime. The canonicalization is
/// exclusive, and the digest is SHA-256.
public struct SignatureWriter {
  private let key: PrivateKey
  private let certificates: [Certificate]

  /// Makes a writer.
  ///
  /// - Parameters:
  ///   - certificates: the chain with the signer's certificate, or empty for a signature with the bare key.
  /// - Throws: ``SigningError`` unless exactly one certificate holds the key.
  public init(key: PrivateKey, certificates: [Certificate] = []) throws(SigningError) {
    let holders = Set(certificates).count { $0.key == key.publicKey }
    guard certificates.isEmpty || holders == 1 else {
      throw SigningError("exactly one of the certificates must hold the key")
    }
    self.key = key
    self.certificates = certificates
  }

  /// Signs a document.
  ///
  /// - Parameters:
  ///   - document: XML in UTF-8, unsigned or with signatures that hold.
  ///   - time: the signing time, which is cut to whole seconds.
  /// - Returns: the same bytes with a Signature element before the root's end tag.
  /// - Throws: ``SigningError``.
  public func sign(_ document: [UInt8], at time: Timestamp) throws(SigningError) -> [UInt8] {
    guard let time = time.dateTime else { throw SigningError("the signing time is out of range") }
    var markup = SignatureMarkup(
      id: "signature-" + Hex.encode(SecureRandom.bytes(8)), time: time, key: key,
      certificates: certificates)
    let draft = try parse(try insert(markup, into: document))
    guard let signature = draft.root.children.last,
      let context = SignatureContext(key: key.handle, allowsIdentifiers: true),
      context.sign(signature),
      let info = signature.child(named: "SignedInfo", in: Algorithm.signature),
      let value = signature.child(named: "SignatureValue", in: Algorithm.signature)
    else { throw SigningError("the document can't be signed") }
    markup.digests = info.children(named: "Reference", in: Algorithm.signature).compactMap {
      $0.child(named: "DigestValue", in: Algorithm.signature)?.text
    }
    markup.value = value.text.filter { !$0.isWhitespace }
    markup.namesKey = true

    let signed = try insert(markup, into: document)
    do { _ = try SignatureVerifier().verify(try parse(signed)) } catch {
      throw SigningError("the signature would not hold: \(error)")
    }
    return signed
  }

  private func parse(_ bytes: [UInt8]) throws(SigningError) -> XMLDocument {
    do { return try XMLDocument(parsing: bytes) } catch { throw SigningError(error.description) }
  }

  private func insert(
    _ markup: SignatureMarkup, into bytes: [UInt8]
  ) throws(SigningError) -> [UInt8] {
    let text = [UInt8](markup.text.utf8)
    switch try parse(bytes).rootEnd {
    case .tag(let offset):
      return bytes[..<offset] + text + bytes[offset...]
    case .emptyTag(let offset, let name):
      let open = [UInt8](">".utf8)
      let close = [UInt8]("</".utf8)
      return bytes[..<offset] + open + text + close + bytes[name] + bytes[(offset + 1)...]
    }
  }
}

/// The text of a Signature element, at first without its digests and value.
private struct SignatureMarkup {
  let id: String
  let time: String
  let key: PrivateKey
  let certificates: [Certificate]
  var digests = ["", ""]
  var value = ""
  /// True if KeyInfo is filled. KeyInfo is not signed, and must be empty while libxmlsec1 signs, which would try to
  /// write keys that it can't write.
  var namesKey = false

  var text: String {
    let method = key.publicKey.kind == .rsa ? Algorithm.rsaSHA256 : Algorithm.ecdsaSHA256
    let canonicalization = "Algorithm=\"\(Algorithm.exclusiveC14N)\"/>"
    return """
      <ds:Signature xmlns:ds="\(Algorithm.signature)" Id="\(id)"><ds:SignedInfo>\
      <ds:CanonicalizationMethod \(canonicalization)\
      <ds:SignatureMethod Algorithm="\(method)"/>\
      <ds:Reference URI=""><ds:Transforms>\
      <ds:Transform Algorithm="\(Algorithm.enveloped)"/><ds:Transform \(canonicalization)\
      </ds:Transforms>\(digest(0))</ds:Reference>\
      <ds:Reference URI="#\(id)-properties" Type="\(Algorithm.signedProperties)"><ds:Transforms>\
      <ds:Transform \(canonicalization)</ds:Transforms>\(digest(1))</ds:Reference>\
      </ds:SignedInfo><ds:SignatureValue>\(value)</ds:SignatureValue>\
      <ds:KeyInfo>\(namesKey ? keyInfo : "")</ds:KeyInfo>\
      <ds:Object><xades:QualifyingProperties xmlns:xades="\(Algorithm.advancedSignature)" \
      Target="#\(id)"><xades:SignedProperties Id="\(id)-properties">\
      <xades:SignedSignatureProperties><xades:SigningTime>\(time)</xades:SigningTime>\
      </xades:SignedSignatureProperties></xades:SignedProperties></xades:QualifyingProperties>\
      </ds:Object></ds:Signature>
      """
  }

  private func digest(_ index: Int) -> String {
    "<ds:DigestMethod Algorithm=\"\(Algorithm.sha256)\"/>"
      + "<ds:DigestValue>\(digests[index])</ds:DigestValue>"
  }

  /// The key, and then the certificates: wallets take the key from the first KeyValue, never from a certificate.
  private var keyInfo: String {
    guard !certificates.isEmpty else { return keyValue }
    let items = certificates.map { "<ds:X509Certificate>\(base64($0.der))</ds:X509Certificate>" }
    return keyValue + "<ds:X509Data>\(items.joined())</ds:X509Data>"
  }

  /// The key in a form that the official library reads, which knows RSAKeyValue and ECDSAKeyValue (RFC 4050) alone. Each
  /// coordinate has the field's full length.
  private var keyValue: String {
    let kind = key.publicKey.kind
    if let urn = kind.urn, let point = key.handle.point, point.count == 1 + 2 * kind.coordinateSize
    {
      let x = point[1...kind.coordinateSize]
      let y = point[(1 + kind.coordinateSize)...]
      return """
        <ds:KeyValue><ecdsa:ECDSAKeyValue xmlns:ecdsa="\(Algorithm.signatureMore)">\
        <ecdsa:DomainParameters><ecdsa:NamedCurve URI="\(urn)"/></ecdsa:DomainParameters>\
        <ecdsa:PublicKey><ecdsa:X>\(base64(Array(x)))</ecdsa:X><ecdsa:Y>\(base64(Array(y)))</ecdsa:Y>\
        </ecdsa:PublicKey></ecdsa:ECDSAKeyValue></ds:KeyValue>
        """
    }
    guard let numbers = key.handle.modulusAndExponent else { return "" }
    return """
      <ds:KeyValue><ds:RSAKeyValue><ds:Modulus>\(base64(numbers.modulus))</ds:Modulus>\
      <ds:Exponent>\(base64(numbers.exponent))</ds:Exponent></ds:RSAKeyValue></ds:KeyValue>
      """
  }

  private func base64(_ bytes: [UInt8]) -> String {
    var text = [UInt8](repeating: 0, count: (bytes.count + 2) / 3 * 4 + 1)
    let count = unsafe EVP_EncodeBlock(&text, bytes, Int32(bytes.count))
    return String(decoding: text[..<Int(count)], as: UTF8.self)
  }
}
