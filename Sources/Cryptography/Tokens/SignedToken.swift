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

  /// The algorithm of the signature.
  public let algorithm: SignatureAlgorithm
  /// The identifier of the key that verifies the signature, or nil if the token names none.
  public let keyID: String?
  private let bytes: [UInt8]

  /// Reads the header, and verifies nothing.
  ///
  /// - Parameter bytes: the token.
  /// - Throws: ``Refusal``.
  public init(parsing bytes: [UInt8]) throws(Refusal) {
    let pieces = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard pieces.count == 3, pieces.allSatisfy(Base64URL.isWellFormed) else { throw .malformed }
    let parts = unsafe Self.withJWS(bytes) { jws -> (String?, String?, String?, Bool)? in
      let header = unsafe cjose_jws_get_protected(jws)
      return unsafe (
        Self.text(header, "alg"), Self.text(header, "kid"), Self.text(header, "typ"),
        ccjose_has(header, "crit")
      )
    }
    guard let (name, keyID, type, isCritical) = parts else { throw .malformed }
    guard let algorithm = name.flatMap(SignatureAlgorithm.init) else { throw .algorithm }
    guard !isCritical, type?.lowercased() ?? "jwt" == "jwt" else { throw .kind }
    (self.algorithm, self.keyID, self.bytes) = (algorithm, keyID, bytes)
  }

  /// The token's content, if a key's other half has signed it.
  ///
  /// - Parameter key: a key of the token's algorithm; any other verifies nothing.
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
