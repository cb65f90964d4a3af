internal import Formats
internal import Platform

/// The claims of a JSON Web Token, by their names.
struct Claims: Sendable {
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

  /// Judges the claims of a token whose signature is right.
  ///
  /// - Parameters:
  ///   - uid: the identity that the account shall have.
  ///   - nonce: the nonce that names the account's keys.
  /// - Throws: ``Refusal``.
  func check(_ claims: Claims, uid: String, nonce: String, at now: Timestamp) throws(Refusal) {
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

  private func identity(_ claims: Claims) throws(Refusal) -> String? {
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
