internal import Ethereum
internal import Platform
internal import ServiceKit

/// Decides who may make an account.
enum IdentityProvider: Sendable {
  /// Everyone may make an account; an identity proves nothing.
  case open
  /// Holders of an invitation's token may.
  case invite
  /// Holders of a token that Facebook gave to this user of this app may.
  case facebook(GraphClient)
  /// Holders of an ID token of an OpenID Connect issuer, for the keys of the account, may.
  case oidc(OIDCClient)
  /// Holders of an Ethereum account whose wallet has signed for the keys of the account may.
  case siwe(SignInClient)

  /// A provider's decision on somebody.
  enum IdentityDecision: Hashable, Sendable {
    case accepted
    /// Accepted by a signature for the identity.
    case signed(UIDProof)
    /// Refused for a reason, in words that have nothing of the token.
    case refused(reason: String)
    /// The provider does not say, for a reason in words.
    case unavailable(reason: String)
    /// The provider may not be asked so often.
    case tooManyQuestions
    /// Accepted if there is such an invitation, which is used up with the account's creation.
    case invited(InvitationHash)
  }

  /// Makes the provider that the configuration names.
  ///
  /// - Throws: ``HTTPClientError`` if no client can be made.
  init(
    _ configuration: ApptimistConfiguration, _ checker: AccountChecker,
    clock: @escaping @Sendable () -> Timestamp
  ) throws {
    switch configuration.identity {
    case .open: self = .open
    case .invite: self = .invite
    case .facebook: self = .facebook(try GraphClient(configuration.facebook, clock: clock))
    case .oidc: self = .oidc(try OIDCClient(configuration.oidc, clock: clock))
    case .siwe: self = .siwe(SignInClient(configuration.siwe, checker, clock: clock))
    }
  }

  /// True if a uid is that of a person, whom the operator may have disabled under another key.
  var provesIdentities: Bool {
    switch self {
    case .open, .invite: false
    case .facebook, .oidc, .siwe: true
    }
  }

  /// True if an evaluation sends a request to somebody else's server, or may send one.
  var asksOthers: Bool {
    switch self {
    // Most wallets are keys, which are evaluated here; the calls for others are counted by themselves.
    case .open, .invite, .siwe: false
    case .facebook, .oidc: true
    }
  }

  /// Evaluates who applies for an account.
  ///
  /// - Parameter mayQuery: says whether an issuer or a chain may be asked because of this token alone.
  func evaluate(_ applicant: Applicant, mayQuery: @Sendable () -> Bool) async -> IdentityDecision {
    switch self {
    case .open: .accepted
    case .invite: .invited(InvitationHash(ofToken: applicant.token))
    case .facebook(let graph):
      await graph.evaluate(uid: applicant.uid, token: applicant.token)
    case .oidc(let client): await client.evaluate(applicant, mayFetch: mayQuery)
    case .siwe(let client): await client.evaluate(applicant, mayQuery: mayQuery)
    }
  }
}
