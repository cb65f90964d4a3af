internal import ApptimistProtocol
internal import Configuration
internal import Cryptography
internal import Formats
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
  /// - Parameter mayFetch: says whether the issuer's keys may be fetched because the token names an unknown one.
  func evaluate(
    _ applicant: Applicant, mayFetch: @Sendable () -> Bool
  ) async -> IdentityProvider.IdentityDecision {
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

/// The section `[apptimist.oidc]`.
struct OIDCConfiguration: Sendable {
  /// The rule on whether a token must name the keys that it makes an account for.
  enum Nonce: String, CaseIterable, Sendable {
    /// Every token must.
    case required
    /// A token may leave it out, and is then good for any keys as long as it lasts.
    case optional
  }

  /// The issuer as it stands in its tokens, with a slash at the end if it has one there.
  var issuer = ""
  /// The client's identifier at the issuer.
  var audience = ""
  /// The claim that is the user's identity, or empty for issuer and subject.
  var claim = ""
  var nonce = Nonce.required
  /// The time that one document of the issuer may take.
  var timeout = Duration.seconds(10)

  /// The longest issuer: the identity of 255 bytes has the subject in it, too.
  private static let issuerLength = 200

  /// Makes the default configuration, which names no issuer.
  init() {}

  /// Reads the section, and records its faults.
  ///
  /// - Parameters:
  ///   - section: `[apptimist.oidc]`.
  ///   - isUsed: whether the section must name an issuer.
  init(_ section: ConfigurationSection, isUsed: Bool) {
    issuer = section.value(
      "issuer", default: issuer,
      expected:
        "an http or https URL of at most \(Self.issuerLength) bytes, exactly as `iss` in the issuer's tokens"
    ) { text in
      let url =
        text.utf8.count <= Self.issuerLength ? WebURL(text, schemes: ["http", "https"]) : nil
      return url.flatMap { $0.query == nil ? text : nil }
    }
    audience = section.string("audience", default: audience)
    claim = section.string("claim", default: claim)
    nonce = section.choice("nonce", default: nonce)
    section.duration("timeout", &timeout, in: .milliseconds(100)...(.seconds(60)))
    guard isUsed else { return }
    if !section.isGiven("issuer") {
      section.reject("issuer", "expected the issuer's URL, exactly as `iss` in its tokens")
    }
    if audience.isEmpty {
      section.reject(
        "audience", "expected the client's identifier at the issuer, `aud` in its tokens")
    }
  }

  /// The URL of the document by which an issuer tells where its keys are (OpenID Connect Discovery 1.0, section 4).
  var discoveryURL: String {
    (issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer)
      + "/.well-known/openid-configuration"
  }
}
