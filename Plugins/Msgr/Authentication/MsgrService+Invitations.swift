public import CommandLine
public import ServiceKit

extension MsgrService: InvitingService {
  /// Keeps an invitation.
  ///
  /// - Parameters:
  ///   - invitation: the invitation, for anybody.
  ///   - context: the service's configuration and store.
  /// - Returns: a note if accounts don't need invitations.
  /// - Throws: ``CommandError`` if the invitation is for one user only.
  public static func add(
    _ invitation: Invitation, _ context: ServiceContext
  ) async throws -> String? {
    guard invitation.uid == nil else {
      throw CommandError.usage("--uid is for apptimist only")
    }
    let configuration = MsgrConfiguration(context.configuration)
    let store = MsgrStore(context, limits: configuration.store)
    try await store.addInvitation(
      InvitationHash(ofToken: invitation.token), uses: invitation.uses,
      expires: invitation.expires)
    return configuration.signup == .invite
      ? nil : "not needed at the moment: signup is \(configuration.signup.rawValue)"
  }
}
