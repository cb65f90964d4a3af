internal import CCJose

/// A JSON Web Token in the compact form, signed with a public key's other half (RFC 7515, RFC 7519).
public struct SignedToken: Sendable {
  /// A token can't be read, or its signature would prove nothing.
  public enum Refusal: Error, Hashable, Sendable {
    /// It is not three pieces of base64url with a header of JSON, or names an algorithm that cjose doesn't know,
    /// as `none`.
    case malformed
    /// Its algorithm is missing, or another than ``SignatureAlgorithm`` has.
    case algorithm
    /// It has a critical extension, or states that it is another kind of token.
    case kind
  }

  /// The parameters of a token's header that are looked at.
  private struct Header {
    let algorithm: String?
    let keyID: String?
    let type: String?
    let isCritical: Bool
  }

  /// The algorithm of the signature.
  public let algorithm: SignatureAlgorithm
  /// The identifier of the key that verifies the signature, or nil if the token names none.
  public let keyID: String?
  private let bytes: [UInt8]

  /// Reads the header, and verifies nothing.
  ///
  /// - Throws: ``Refusal``.
  public init(parsing bytes: [UInt8]) throws(Refusal) {
    let pieces = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard pieces.count == 3, pieces.allSatisfy(Base64URL.isWellFormed) else { throw .malformed }
    let header = unsafe Self.withJWS(bytes) { jws -> Header? in
      let header = unsafe cjose_jws_get_protected(jws)
      return unsafe Header(
        algorithm: Self.text(header, "alg"), keyID: Self.text(header, "kid"),
        type: Self.text(header, "typ"), isCritical: ccjose_has(header, "crit"))
    }
    guard let header else { throw .malformed }
    guard let algorithm = header.algorithm.flatMap(SignatureAlgorithm.init) else {
      throw .algorithm
    }
    guard !header.isCritical, header.type?.lowercased() ?? "jwt" == "jwt" else { throw .kind }
    self.algorithm = algorithm
    keyID = header.keyID
    self.bytes = bytes
  }

  /// The token's content, if a key's other half has signed it.
  public func payload(verifiedBy key: JSONWebKey) -> [UInt8]? {
    guard key.algorithm == algorithm else { return nil }
    return unsafe Self.withJWS(bytes) { jws in
      unsafe key.withJWK { jwk in
        guard unsafe cjose_jws_verify(jws, jwk, nil) else { return nil }
        var start: UnsafeMutablePointer<UInt8>?
        var count = 0
        guard unsafe cjose_jws_get_plaintext(jws, &start, &count, nil) else { return nil }
        return unsafe Array(UnsafeBufferPointer(start: start, count: count))
      }
    }
  }

  /// Lends a token to cjose.
  ///
  /// - Returns: the closure's result; nil also if cjose can't read the token.
  private static func withJWS<Result>(
    _ bytes: [UInt8], _ body: (OpaquePointer) -> Result?
  ) -> Result? {
    let jws = unsafe bytes.withUnsafeBytes { bytes in
      unsafe cjose_jws_import(bytes.bindMemory(to: CChar.self).baseAddress, bytes.count, nil)
    }
    guard let jws = unsafe jws else { return nil }
    defer { unsafe cjose_jws_release(jws) }
    return unsafe body(jws)
  }

  private static func text(_ header: OpaquePointer?, _ name: String) -> String? {
    guard let text = unsafe cjose_header_get(header, name, nil) else { return nil }
    return unsafe String(cString: text)
  }
}

/// A private key that signs JSON Web Tokens: on the curve P-256 by ES256, or of RSA by RS256 (RFC 7518 sections 3.3 and 3.4).
@safe public final class SigningKey: @unchecked Sendable {
  // Safe to share: cjose only reads the key to sign, and OpenSSL locks what it caches in it.
  private let jwk: OpaquePointer
  private let algorithm: SignatureAlgorithm

  /// Makes the signing key of a pair.
  ///
  /// - Returns: nil if OpenSSL fails.
  public init?(_ pair: P256KeyPair) {
    guard var secret = pair.secretNumber else { return nil }
    defer { wipe(&secret) }
    // Behind the byte that says that the point is uncompressed.
    var x = Array(pair.publicKey.bytes[1...32])
    var y = Array(pair.publicKey.bytes[33...])
    let jwk = unsafe secret.withUnsafeMutableBufferPointer { d in
      unsafe x.withUnsafeMutableBufferPointer { x in
        unsafe y.withUnsafeMutableBufferPointer { y in
          var specification = unsafe cjose_jwk_ec_keyspec(
            crv: CJOSE_JWK_EC_P_256, d: d.baseAddress, dlen: d.count, x: x.baseAddress,
            xlen: x.count, y: y.baseAddress, ylen: y.count)
          return unsafe cjose_jwk_create_EC_spec(&specification, nil)
        }
      }
    }
    guard let jwk = unsafe jwk else { return nil }
    unsafe self.jwk = jwk
    algorithm = .es256
  }

  /// Reads a key of RSA.
  ///
  /// - Parameter pem: a PKCS #8 key without a password, of 2,048 to 8,192 bits.
  /// - Returns: nil for anything else, or if OpenSSL fails.
  public init?(rsaPEM pem: [UInt8]) {
    guard let key = try? PEM.privateKey(in: pem), var n = key.number("n"), var e = key.number("e"),
      var d = key.number("d"), JSONWebKey.modulus.contains(n.count * 8)
    else { return nil }
    defer { wipe(&d) }
    let jwk = unsafe d.withUnsafeMutableBufferPointer { d in
      unsafe n.withUnsafeMutableBufferPointer { n in
        unsafe e.withUnsafeMutableBufferPointer { e in
          var specification = unsafe cjose_jwk_rsa_keyspec()
          unsafe specification.n = n.baseAddress
          unsafe specification.nlen = n.count
          unsafe specification.e = e.baseAddress
          unsafe specification.elen = e.count
          unsafe specification.d = d.baseAddress
          unsafe specification.dlen = d.count
          return unsafe cjose_jwk_create_RSA_spec(&specification, nil)
        }
      }
    }
    guard let jwk = unsafe jwk else { return nil }
    unsafe self.jwk = jwk
    algorithm = .rs256
  }

  deinit { unsafe _ = cjose_jwk_release(jwk) }

  /// Makes a token in the compact form (RFC 7515 section 3.1).
  ///
  /// - Parameters:
  ///   - claims: the JSON of the claims.
  ///   - header: the parameters of the header besides `alg`.
  /// - Returns: nil if cjose fails.
  public func token(_ claims: String, header: [String: String]) -> String? {
    guard let protected = unsafe cjose_header_new(nil) else { return nil }
    defer { unsafe cjose_header_release(protected) }
    var parameters = header
    parameters["alg"] = algorithm.rawValue
    for (name, value) in parameters {
      guard unsafe cjose_header_set(protected, name, value, nil) else { return nil }
    }
    let content = Array(claims.utf8)
    guard let jws = unsafe cjose_jws_sign(jwk, protected, content, content.count, nil) else {
      return nil
    }
    defer { unsafe cjose_jws_release(jws) }
    var text: UnsafePointer<CChar>?
    guard unsafe cjose_jws_export(jws, &text, nil), let text = unsafe text else { return nil }
    return unsafe String(cString: text)
  }
}
