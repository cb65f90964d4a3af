package import ServiceKit

extension ApptimistService: InvitingService {
  /// True: identity providers know users by their uids.
  package static let knowsUIDs = true

  /// Keeps an invitation.
  ///
  /// - Parameters:
  ///   - invitation: the invitation.
  ///   - context: the service's store.
  ///   - configuration: the section `[apptimist]`.
  /// - Returns: a note if accounts don't need invitations.
  package static func add(
    _ invitation: Invitation, _ context: ServiceContext, _ configuration: ApptimistConfiguration
  ) async throws -> String? {
    let store = ApptimistStore(store: context.store, limits: configuration.store)
    try await store.addInvitation(
      InvitationHash(ofToken: [UInt8](invitation.token.utf8)), uid: invitation.uid,
      uses: invitation.uses, expires: invitation.expires)
    return configuration.identity == .invite
      ? nil : "not needed at the moment: identity is \(configuration.identity.rawValue)"
  }
}
