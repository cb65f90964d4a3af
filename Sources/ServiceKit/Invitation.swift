internal import Cryptography
package import Platform
internal import Storage

/// A service that may ask for an invitation when an account is made.
package protocol InvitingService: Service {
  /// True if an invitation can be for one user only, whom the service knows by a uid before there is an account.
  static var knowsUIDs: Bool { get }

  /// Keeps an invitation, of whose token only a hash is stored.
  ///
  /// - Returns: what the operator should know, such as that no invitation is needed at the moment.
  /// - Throws: the store's error.
  static func add(
    _ invitation: Invitation, _ context: ServiceContext, _ configuration: Configuration
  ) async throws -> String?

  /// Lists the invitations that are good, the next to expire first.
  static func invitations(
    _ context: ServiceContext, _ configuration: Configuration
  ) async throws -> [InvitationSummary]

  /// Revokes the invitations whose hash begins with an identifier of ``InvitationSummary``.
  ///
  /// - Returns: whether there was one.
  static func revokeInvitation(
    _ id: String, _ context: ServiceContext, _ configuration: Configuration
  ) async throws -> Bool
}

/// An invitation as operators see it. Only the person to whom it was given has its token.
package struct InvitationSummary: Sendable, Encodable {
  /// The number of hexadecimal digits of ``id``.
  package static let idLength = 16

  /// The first digits of the token's hash.
  package let id: String
  /// The number of accounts that can still be made with it.
  package let uses: Int
  /// The moment at which it expires, as RFC 3339 writes it.
  package let expires: String
  /// The only user that it is for, or nil for any.
  package let uid: String?

  package init(hash: [UInt8], uses: Int, expires: Timestamp, uid: String? = nil) {
    id = Self.id(ofHash: hash)
    self.uses = uses
    self.expires = expires.description
    self.uid = uid
  }

  /// Returns the ``id`` of an invitation.
  package static func id(ofHash hash: [UInt8]) -> String {
    String(Hex.encode(hash).prefix(idLength))
  }
}

/// An invitation to make an account.
package struct Invitation: Sendable {
  /// The token that is shown instead of the operator's word.
  package let token: String
  /// The only user that it is for, or nil for any.
  package let uid: String?
  /// The number of accounts that can be made with it.
  package let uses: Int
  /// The moment at which it expires.
  package let expires: Timestamp

  /// Makes an invitation.
  ///
  /// - Parameters:
  ///   - uid: the only user that it is for, or nil for any.
  ///   - uses: the number of accounts that can be made with it.
  ///   - expires: the moment at which it expires.
  package init(token: String, uid: String?, uses: Int, expires: Timestamp) {
    self.token = token
    self.uid = uid
    self.uses = uses
    self.expires = expires
  }
}

/// The hash of an invitation's token, which is stored instead of it. A token has too many values to be guessed, so the
/// hash needs no salt.
package struct InvitationHash: FixedBytes, DatabaseValueConvertible {
  private var digest = SHA256.Digest()

  package init() {}

  /// Hashes a token.
  package init(ofToken token: some Sequence<UInt8>) { digest = SHA256.hash(Array(token)) }
}

extension InvitationHash {
  /// Finds the invitations that an operator means.
  ///
  /// - Parameters:
  ///   - id: the first hexadecimal digits of their hash, an even number, as ``InvitationSummary`` shows them.
  ///   - hashes: the hashes of all invitations.
  package static func invitations(named id: String, among hashes: [Self]) -> [Self] {
    guard let start = Hex.decode(id.utf8) else { return [] }
    return hashes.filter { $0.bytes.starts(with: start) }
  }
}
