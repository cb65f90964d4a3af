package import Platform

/// A service that may ask for an invitation when an account is made.
package protocol InvitingService: Service {
  /// True if an invitation can be for one user only, whom the service knows by a uid before there is an account.
  static var knowsUIDs: Bool { get }

  /// Keeps an invitation, of whose token only a hash is stored.
  ///
  /// - Parameters:
  ///   - invitation: the invitation.
  ///   - context: the service's store.
  ///   - configuration: the service's section.
  /// - Returns: what the operator should know, such as that no invitation is needed at the moment.
  /// - Throws: the store's error.
  static func add(
    _ invitation: Invitation, _ context: ServiceContext, _ configuration: Configuration
  ) async throws -> String?
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
  ///   - token: its token.
  ///   - uid: the only user that it is for, or nil for any.
  ///   - uses: the number of accounts that can be made with it.
  ///   - expires: the moment at which it expires.
  package init(token: String, uid: String?, uses: Int, expires: Timestamp) {
    (self.token, self.uid, self.uses, self.expires) = (token, uid, uses, expires)
  }
}
