internal import CCJose

/// A public key that verifies signatures by one algorithm (RFC 7517).
public struct JSONWebKey: Sendable, Hashable {
  /// The key's identifier in its set (`kid`), or nil if it has none.
  public let id: String?
  /// The only algorithm that the key is used with; its type and curve follow from that.
  public let algorithm: SignatureAlgorithm
  /// The public half alone, as JSON that cjose reads.
  ///
  /// Kept instead of cjose's own object, whose count of references isn't atomic.
  private let json: [UInt8]

  /// The sizes of an RSA modulus that are taken, in bits.
  static let modulus = 2048...8192

  /// Takes a key of a set.
  ///
  /// - Parameter published: the key as its set states it.
  /// - Returns: nil for a key that is meant for something else, of another type, or too weak.
  init?(_ published: PublishedKey) {
    guard published.use ?? "sig" == "sig", published.key_ops?.contains("verify") ?? true else {
      return nil
    }
    switch (published.kty, published.crv) {
    case ("RSA", _):
      guard let n = published.n, let e = published.e, Base64URL.isWellFormed(n.utf8),
        Base64URL.isWellFormed(e.utf8)
      else { return nil }
      algorithm = .rs256
      json = Array(#"{"kty":"RSA","n":"\#(n)","e":"\#(e)"}"#.utf8)
    case ("EC", "P-256"):
      guard let x = published.x, let y = published.y, Base64URL.isWellFormed(x.utf8),
        Base64URL.isWellFormed(y.utf8)
      else { return nil }
      algorithm = .es256
      json = Array(#"{"kty":"EC","crv":"P-256","x":"\#(x)","y":"\#(y)"}"#.utf8)
    default: return nil
    }
    guard published.alg ?? algorithm.rawValue == algorithm.rawValue else { return nil }
    id = published.kid
    let size = unsafe withJWK { jwk in unsafe cjose_jwk_get_keysize(jwk, nil) }
    guard let size, algorithm == .es256 || Self.modulus.contains(size) else { return nil }
  }

  /// Lends the key to cjose.
  ///
  /// - Returns: the closure's result; nil also if OpenSSL refuses the key, such as a point that is not on the curve.
  func withJWK<Result>(_ body: (OpaquePointer) -> Result?) -> Result? {
    let jwk = unsafe json.withUnsafeBytes { json in
      unsafe cjose_jwk_import(json.bindMemory(to: CChar.self).baseAddress, json.count, nil)
    }
    guard let jwk = unsafe jwk else { return nil }
    defer { unsafe _ = cjose_jwk_release(jwk) }
    return unsafe body(jwk)
  }
}

/// The members of a published key that decide whether and how it is used (RFC 7517 section 4, RFC 7518 section 6).
struct PublishedKey: Decodable {
  let kty: String
  let use: String?
  let key_ops: [String]?
  let alg: String?
  let kid: String?
  let crv: String?
  let n: String?
  let e: String?
  let x: String?
  let y: String?
}
