internal import ApptimistProtocol
internal import Cryptography
internal import Observability
internal import Time

/// Decides who may make an account.
enum IdentityProvider: Sendable {
  /// Everyone; an identity proves nothing.
  case open
  /// Who has the token of an invitation.
  case invite
  /// Who has a token that Facebook gave to this user of this app.
  case facebook(GraphClient)

  /// What is said about somebody.
  enum Verdict: Hashable, Sendable {
    case accepted
    case refused
    /// Accepted if there is such an invitation, which is used up with the account's creation.
    case invited(InvitationHash)
  }

  /// The provider that the configuration names.
  ///
  /// - Throws: ``HTTPClientError`` if no client can be made.
  init(_ configuration: ApptimistConfiguration, clock: @escaping @Sendable () -> Timestamp) throws {
    switch configuration.identity {
    case .open: self = .open
    case .invite: self = .invite
    case .facebook:
      // Without the app the configuration was refused before.
      guard let app = configuration.facebook else { throw MissingApp() }
      self = .facebook(try GraphClient(app, clock: clock))
    }
  }

  /// The configuration names no app.
  struct MissingApp: Error, CustomStringConvertible {
    var description: String { "expected app_id and app_secret in [apptimist.facebook]" }
  }

  /// Judges somebody; a provider that doesn't answer refuses.
  ///
  /// - Parameters:
  ///   - uid: who it is said to be.
  ///   - token: what is to prove it.
  func judge(uid: String, token: ShortBytes) async -> Verdict {
    switch self {
    case .open: .accepted
    case .invite: InvitationToken.hash(of: token.bytes).map { .invited($0) } ?? .refused
    case .facebook(let graph): await graph.confirms(uid: uid, token: token) ? .accepted : .refused
    }
  }
}
