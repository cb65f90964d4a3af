internal import Cryptography

/// The secret of an invitation; only its hash is stored.
struct InvitationToken: Sendable {
  /// 32 letters and digits, which `new` carries as its token.
  let text: String

  /// Makes a new token.
  ///
  /// - Parameter randomBytes: gives random bytes.
  init(randomBytes: (_ count: Int) -> [UInt8]) {
    text = Hex.encode(randomBytes(16))
  }

  /// The hash by which the token is looked up.
  var hash: InvitationHash { InvitationHash(ofToken: [UInt8](text.utf8)) }
}
