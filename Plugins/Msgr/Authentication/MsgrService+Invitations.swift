package import ServiceKit

extension MsgrService: InvitingService {
  /// False: an account has no uid.
  package static let knowsUIDs = false

  /// Keeps an invitation.
  ///
  /// - Parameters:
  ///   - invitation: the invitation, for anybody.
  ///   - context: the service's store.
  ///   - configuration: the section `[msgr]`.
  /// - Returns: a note if accounts don't need invitations.
  package static func add(
    _ invitation: Invitation, _ context: ServiceContext, _ configuration: MsgrConfiguration
  ) async throws -> String? {
    let store = MsgrStore(context, configuration)
    try await store.addInvitation(
      InvitationHash(ofToken: invitation.token), uses: invitation.uses,
      expires: invitation.expires)
    return configuration.signup == .invite
      ? nil : "not needed at the moment: signup is \(configuration.signup.rawValue)"
  }
}
