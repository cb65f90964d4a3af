internal import ApptimistProtocol
internal import Cryptography
internal import Platform

/// Judges ID tokens of an OpenID Connect issuer.
struct OIDCClient: Sendable {
  /// The longest token, in bytes.
  private static let tokenLimit = 8192

  private let rules: IDTokenRules
  private let keys: IssuerKeys
  private let clock: @Sendable () -> Timestamp

  /// Makes a client for an issuer.
  ///
  /// - Throws: ``HTTPClientError``.
  init(_ configuration: OIDCConfiguration, clock: @escaping @Sendable () -> Timestamp) throws {
    rules = IDTokenRules(configuration: configuration)
    keys = try IssuerKeys(configuration, clock: clock)
    self.clock = clock
  }

  /// Returns what a page needs that asks the issuer for a token.
  func settings() async -> [String: String] {
    let configuration = rules.configuration
    var settings = ["audience": configuration.audience, "claim": configuration.claim]
    settings["authorize"] = await keys.authorizationPage()
    return settings
  }

  /// Judges somebody by an ID token.
  ///
  /// - Parameters:
  ///   - applicant: who shall have an account, and the token.
  ///   - mayFetch: says whether the issuer's keys may be fetched because the token names an unknown one.
  func judge(
    _ applicant: Applicant, mayFetch: @Sendable () -> Bool
  ) async -> IdentityProvider.Verdict {
    do throws(IDTokenRules.Refusal) {
      let token = try Self.read(applicant.token)
      let key: JSONWebKey?
      do throws(IssuerKeys.Unavailable) {
        key = try await keys.key(of: token, mayFetch: mayFetch)
      } catch { return .unavailable(reason: "the issuer: \(error.reason)") }
      guard let key else { throw .unknownKey }
      guard let payload = token.payload(verifiedBy: key) else { throw .signature }
      guard let claims = Claims(parsing: payload) else { throw .malformed }
      let nonce = Version2.tokenNonce(applicant.encryptionKey, applicant.authenticationKey)
      try rules.check(claims, uid: applicant.uid, nonce: nonce, at: clock())
      return .accepted
    } catch { return .refused(reason: error.rawValue) }
  }

  private static func read(_ bytes: [UInt8]) throws(IDTokenRules.Refusal) -> SignedToken {
    guard bytes.count <= tokenLimit else { throw .malformed }
    do throws(SignedToken.Refusal) {
      return try SignedToken(parsing: bytes)
    } catch {
      switch error {
      case .malformed: throw .malformed
      case .algorithm: throw .algorithm
      case .kind: throw .kind
      }
    }
  }
}
