internal import ApptimistProtocol
internal import Configuration
internal import Cryptography
internal import Formats
internal import Platform

/// Validates ID tokens of an OpenID Connect issuer.
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

  /// Evaluates an applicant by an ID token.
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
      guard let claims = TokenClaims(parsing: payload) else { throw .malformed }
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

/// The claims of a JSON Web Token, by their names.
struct TokenClaims: Sendable {
  private let values: [String: JSONObjectReader.Value]

  /// Reads a token's payload.
  ///
  /// - Returns: nil if it is no JSON object.
  init?(parsing payload: [UInt8]) {
    guard let members = JSONObjectReader.members(of: payload) else { return nil }
    values = Dictionary(members.map { ($0.name, $0.value) }) { $1 }
  }

  /// Returns whether there is a claim, of whatever type.
  func has(_ name: String) -> Bool { values[name] != nil }

  /// A claim that is a text.
  func text(_ name: String) -> String? {
    if case .text(let text)? = values[name] { text } else { nil }
  }

  /// A claim that is a number.
  func number(_ name: String) -> Double? {
    switch values[name] {
    case .integer(let number)?: Double(number)
    case .fraction(let number)?: number
    default: nil
    }
  }

  /// A claim that is a text or a list of texts, as `aud`.
  func texts(_ name: String) -> [String] {
    switch values[name] {
    case .text(let text)?: [text]
    case .list(let texts)?: texts
    default: []
    }
  }

  /// Returns whether a claim is true; some issuers write it as a text.
  func isTrue(_ name: String) -> Bool {
    switch values[name] {
    case .truth(let truth)?: truth
    case .text(let text)?: text == "true"
    default: false
    }
  }
}

/// The rules by which the claims of an ID token prove who somebody is (OpenID Connect Core 1.0, section 3.1.3.7).
struct IDTokenRules: Sendable {
  /// The first reason for which a token proves nothing, in words that have nothing of the token.
  enum Refusal: String, Error, Sendable {
    case malformed = "the token is no JSON Web Token with an object of claims"
    case algorithm = "the token is not signed by RS256 or ES256"
    case kind = "the token is of another type, or has a critical extension"
    case unknownKey = "the issuer has no key as the token names it"
    case signature = "the token's signature is wrong"
    case issuer = "the token is another issuer's"
    case audience = "the token is for another client"
    case expired = "the token has expired, or doesn't say when it does"
    case early = "the token is from the future, or doesn't say when it was made"
    case nonce = "the token's nonce doesn't name the account's keys"
    case unverified = "the issuer has not verified the claim that is the identity"
    case identity = "the token's identity is not the account's"
  }

  let configuration: OIDCConfiguration

  /// The difference of two clocks that is passed over, in seconds.
  private static let leeway = 60.0

  /// Validates the claims of a token whose signature is right.
  ///
  /// - Parameters:
  ///   - uid: the identity that the account shall have.
  ///   - nonce: the nonce that names the account's keys.
  /// - Throws: ``Refusal``.
  func check(_ claims: TokenClaims, uid: String, nonce: String, at now: Timestamp) throws(Refusal) {
    guard Self.same(claims.text("iss"), configuration.issuer) else { throw .issuer }
    let audiences = claims.texts("aud")
    // A token for several must say that it was made for this client.
    guard audiences.contains(where: { Self.same($0, configuration.audience) }),
      audiences.count == 1 || Self.same(claims.text("azp"), configuration.audience)
    else { throw .audience }
    let seconds = Double(now.milliseconds) / 1000
    guard let end = claims.number("exp"), end > seconds - Self.leeway else { throw .expired }
    guard let made = claims.number("iat"), made <= seconds + Self.leeway,
      !claims.has("nbf") || claims.number("nbf") ?? .infinity <= seconds + Self.leeway
    else { throw .early }
    if configuration.nonce == .required || claims.has("nonce") {
      guard Self.same(claims.text("nonce"), nonce) else { throw .nonce }
    }
    guard !uid.isEmpty, Self.same(try identity(claims), uid) else { throw .identity }
  }

  /// Returns whether two texts have the same bytes; `==` takes some different characters for the same.
  private static func same(_ claim: String?, _ text: String) -> Bool {
    claim?.utf8.elementsEqual(text.utf8) ?? false
  }

  private func identity(_ claims: TokenClaims) throws(Refusal) -> String? {
    guard let subject = claims.text("sub"), !subject.isEmpty else { return nil }
    let claim = configuration.claim
    guard !claim.isEmpty else {
      // An issuer has no fragment, so that no two pairs make the same text.
      return "\(configuration.issuer)#\(subject)"
    }
    let verified = "\(claim)_verified"
    if ["email", "phone_number"].contains(claim) || claims.has(verified) {
      guard claims.isTrue(verified) else { throw .unverified }
    }
    return claims.text(claim)
  }
}
