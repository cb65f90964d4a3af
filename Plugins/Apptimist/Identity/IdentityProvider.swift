internal import ApptimistProtocol
internal import Time

/// Decides who may make an account.
enum IdentityProvider: Sendable {
  /// Everyone may; an identity proves nothing.
  case open
  /// Those may who have the token of an invitation.
  case invite
  /// Those may who have a token that Facebook gave to this user of this app.
  case facebook(GraphClient)

  /// A provider's verdict on somebody.
  enum Verdict: Hashable, Sendable {
    case accepted
    case refused
    /// Accepted if there is such an invitation, which is used up with the account's creation.
    case invited(InvitationHash)
  }

  /// Makes the provider that the configuration names.
  ///
  /// - Throws: ``HTTPClientError`` if no client can be made.
  init(_ configuration: ApptimistConfiguration, clock: @escaping @Sendable () -> Timestamp) throws {
    switch configuration.identity {
    case .open: self = .open
    case .invite: self = .invite
    case .facebook: self = .facebook(try GraphClient(configuration.facebook, clock: clock))
    }
  }

  /// Whether a judgement takes a request to somebody else's server.
  var asksOthers: Bool {
    if case .facebook = self { true } else { false }
  }

  /// Judges somebody; a provider that does not respond refuses.
  ///
  /// - Parameters:
  ///   - uid: the identity at the provider.
  ///   - token: the proof of it.
  func judge(uid: String, token: [UInt8]) async -> Verdict {
    switch self {
    case .open: .accepted
    case .invite: .invited(InvitationHash(ofToken: token))
    case .facebook(let graph): await graph.confirms(uid: uid, token: token) ? .accepted : .refused
    }
  }
}
