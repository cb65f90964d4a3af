public import Time

/// A service that may ask for an invitation from whoever makes an account.
public protocol InvitingService: Service {
  /// Keeps an invitation, of whose token only a hash is stored.
  ///
  /// - Parameters:
  ///   - invitation: the invitation.
  ///   - context: the service's configuration and store.
  /// - Returns: what the operator should know, such as that no invitation is needed at the moment.
  /// - Throws: ``CommandError`` if the service has no such invitations, or the store's error.
  static func add(_ invitation: Invitation, _ context: ServiceContext) async throws -> String?
}

/// An invitation to make an account.
public struct Invitation: Sendable {
  /// The token that is shown instead of the operator's word.
  public let token: String
  /// The only user that it is for, or nil for any.
  public let uid: String?
  /// The number of accounts that can be made with it.
  public let uses: Int
  /// The moment at which it expires.
  public let expires: Timestamp

  /// Makes an invitation.
  ///
  /// - Parameters:
  ///   - token: its token.
  ///   - uid: the only user that it is for, or nil for any.
  ///   - uses: the number of accounts that can be made with it.
  ///   - expires: the moment at which it expires.
  public init(token: String, uid: String?, uses: Int, expires: Timestamp) {
    self.token = token
    self.uid = uid
    self.uses = uses
    self.expires = expires
  }
}
