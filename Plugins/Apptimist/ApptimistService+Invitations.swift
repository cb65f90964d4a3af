public import ServiceKit

extension ApptimistService: InvitingService {
  /// Keeps an invitation.
  ///
  /// - Parameters:
  ///   - invitation: the invitation.
  ///   - context: the service's configuration and store.
  /// - Returns: a note if accounts don't need invitations.
  public static func add(
    _ invitation: Invitation, _ context: ServiceContext
  ) async throws -> String? {
    let configuration = ApptimistConfiguration(context.configuration)
    let store = ApptimistStore(store: context.store, limits: configuration.store)
    try await store.addInvitation(
      InvitationHash(ofToken: [UInt8](invitation.token.utf8)), uid: invitation.uid,
      uses: invitation.uses, expires: invitation.expires)
    return configuration.identity == .invite
      ? nil : "not needed at the moment: identity is \(configuration.identity.rawValue)"
  }
}
