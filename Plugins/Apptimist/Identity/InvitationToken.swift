internal import Cryptography

/// The secret of an invitation; only its hash is stored.
struct InvitationToken: Sendable {
  /// 32 letters and digits: what `new` carries as its token.
  let text: String

  /// A new token.
  ///
  /// - Parameter randomBytes: gives random bytes.
  init(randomBytes: (_ count: Int) -> [UInt8]) {
    text = Hex.encode(randomBytes(16))
  }

  /// What the token is looked up by.
  var hash: InvitationHash? { Self.hash(of: [UInt8](text.utf8)) }

  /// What a token is looked up by. It has too many values to be guessed, so the hash needs no salt.
  static func hash(of token: [UInt8]) -> InvitationHash? {
    InvitationHash(SHA256.hash(token).bytes)
  }
}
