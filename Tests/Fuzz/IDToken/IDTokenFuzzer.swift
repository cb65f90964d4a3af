internal import Fuzzing
internal import Cryptography

@testable import Apptimist

/// Takes these bytes as an ID token, as an issuer's keys and as claims; none of the keys in the bytes signs a token in them.
@main enum IDTokenFuzzer: Fuzzer {
  /// A key of P-256: the generator of the curve, whose other half is 1.
  private static let known = Array(
    """
    {"keys":[{"kty":"EC","crv":"P-256","x":"axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY",\
    "y":"T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU"}]}
    """.utf8)

  static func test(_ bytes: [UInt8]) {
    let set = try? JSONWebKeySet(parsing: bytes)
    precondition(set?.keys.count ?? 0 <= 64)
    if let claims = TokenClaims(parsing: bytes) { precondition(!claims.isTrue("no such claim")) }
    guard let token = try? SignedToken(parsing: bytes),
      let key = try? JSONWebKeySet(parsing: known).key(nil, for: .es256)
    else { return }
    let payload = token.payload(verifiedBy: key)
    precondition(payload == nil || token.algorithm == .es256)
  }
}
