internal import CCJose
internal import FoundationEssentials

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

  /// The sizes of an RSA modulus that are accepted, in bits.
  static let modulus = 2048...8192

  /// Reads a key of a set.
  ///
  /// - Returns: nil for a key for another use, of another type, or that is too weak.
  init?(_ published: PublishedKey) {
    guard published.use ?? "sig" == "sig", published.key_ops?.contains("verify") ?? true else {
      return nil
    }
    let publicHalf: PublishedKey
    switch (published.kty, published.crv) {
    case ("RSA", _):
      algorithm = .rs256
      guard let n = published.n, let e = published.e, Base64URL.isWellFormed(n.utf8),
        Base64URL.isWellFormed(e.utf8)
      else { return nil }
      publicHalf = PublishedKey(kty: "RSA", n: n, e: e)
    case ("EC", "P-256"):
      algorithm = .es256
      guard let x = published.x, let y = published.y, Base64URL.isWellFormed(x.utf8),
        Base64URL.isWellFormed(y.utf8)
      else { return nil }
      publicHalf = PublishedKey(kty: "EC", crv: "P-256", x: x, y: y)
    default: return nil
    }
    guard let json = publicHalf.json else { return nil }
    self.json = json
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
struct PublishedKey: Codable {
  let kty: String
  var use: String?
  var key_ops: [String]?
  var alg: String?
  var kid: String?
  var crv: String?
  var n: String?
  var e: String?
  var x: String?
  var y: String?

  /// The key as JSON, the same for equal keys.
  var json: [UInt8]? {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let json = try? encoder.encode(self) else { return nil }
    return Array(json)
  }
}

/// The public keys of an issuer that verify signatures (RFC 7517 section 5).
public struct JSONWebKeySet: Sendable, Hashable {
  /// A document is no set of keys.
  public struct Malformed: Error {}

  /// The usable keys, in the order of the document.
  public let keys: [JSONWebKey]

  /// The most keys of a document that are read.
  private static let limit = 64

  /// Reads a set, and passes over keys that verify no signature of a known algorithm.
  ///
  /// - Throws: ``Malformed``.
  public init(parsing json: [UInt8]) throws(Malformed) {
    guard let document = try? JSONDecoder().decode(Document.self, from: Data(json)) else {
      throw Malformed()
    }
    keys = document.keys.prefix(Self.limit).compactMap { $0.key.flatMap(JSONWebKey.init) }
  }

  /// The key that a token names, if the key is of the token's algorithm.
  ///
  /// - Parameter id: the identifier, or nil for the only key of the algorithm.
  public func key(_ id: String?, for algorithm: SignatureAlgorithm) -> JSONWebKey? {
    let candidates = keys.filter { $0.algorithm == algorithm }
    guard let id else { return candidates.count == 1 ? candidates[0] : nil }
    return candidates.first { $0.id == id }
  }

  /// Returns whether there is a key with an identifier, whatever its algorithm.
  public func has(_ id: String) -> Bool { keys.contains { $0.id == id } }

  private struct Document: Decodable { let keys: [Element] }

  /// A key of the document, or nil if its members have other types than a key's.
  private struct Element: Decodable {
    let key: PublishedKey?

    init(from decoder: any Decoder) { key = try? PublishedKey(from: decoder) }
  }
}

/// The algorithms of signatures that are accepted, by the names that RFC 7518 section 3.1 gives them.
///
/// There is neither `none` nor an algorithm with a shared secret, whatever a token or a key says.
public enum SignatureAlgorithm: String, Sendable, Hashable {
  /// RSASSA-PKCS1-v1_5 with SHA-256.
  case rs256 = "RS256"
  /// ECDSA on the curve P-256 with SHA-256.
  case es256 = "ES256"
}
