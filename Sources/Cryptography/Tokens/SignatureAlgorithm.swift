/// The algorithms of signatures that are taken, by the names that RFC 7518 section 3.1 gives them.
///
/// There is neither `none` nor an algorithm with a shared secret, whatever a token or a key says.
public enum SignatureAlgorithm: String, Sendable, Hashable {
  /// RSASSA-PKCS1-v1_5 with SHA-256.
  case rs256 = "RS256"
  /// ECDSA on the curve P-256 with SHA-256.
  case es256 = "ES256"
}
