internal import Cryptography
internal import JSONWebTokens

extension ES256Key {
  /// Makes a JSON Web Token (RFC 7515 section 3.1).
  ///
  /// - Parameters:
  ///   - head: the JSON of the header, which names ES256.
  ///   - claims: the JSON of the claims.
  /// - Returns: nil if OpenSSL fails.
  func token(_ head: String, _ claims: String) -> String? {
    let signed = [head, claims].map { Base64URL.encode(Array($0.utf8)) }.joined(separator: ".")
    return sign(Array(signed.utf8)).map { "\(signed).\(Base64URL.encode($0))" }
  }
}
