internal import Cryptography
internal import Formats
internal import FoundationEssentials
internal import HTTPClient
internal import HTTPProtocol
internal import Observability
internal import Platform

/// The access tokens that Google grants to a service account (RFC 7523).
///
/// One grant is requested at a time, whatever waits. A token is renewed before its end, and serves meanwhile.
actor AccessTokens {
  private struct Token {
    let text: String
    let issued: Timestamp
    /// The moment from which a new one is requested.
    var renewal: Timestamp
    let end: Timestamp
  }

  /// The members of Google's answers that count.
  private struct Answer: Decodable {
    let access_token: String?
    let expires_in: Int64?
    let error: String?
  }

  /// The time for an answer. A push that waits for it ends before its lease does.
  private static let timeout = Duration.seconds(4)
  /// The longest time before its end at which a token is renewed.
  private static let longestReserve = Duration.seconds(300)
  /// The time after which a renewal that failed is tried again.
  private static let renewalPause = Duration.seconds(10)
  private static let longestToken = 4096

  private var account: ServiceAccount
  private let url: String?
  private let client: WebClient
  private let clock: @Sendable () -> Timestamp
  private let grants: [String: Counter]
  private var token: Token?
  /// The grant under way.
  private var grant: Task<Result<String, PushSetupError>, Never>?

  /// Makes tokens of a service account.
  ///
  /// - Parameter url: the URL that they are granted at, or nil for the account's.
  init(
    of account: ServiceAccount, at url: String?, client: WebClient,
    clock: @escaping @Sendable () -> Timestamp, metrics: Metrics
  ) {
    self.account = account
    self.url = url
    self.client = client
    self.clock = clock
    grants = ["granted", "refused", "failed"].reduce(into: [:]) { grants, result in
      grants[result] = metrics.counter(
        "awd_push_grants_total", "Access tokens requested from Google", ["result": result])
    }
  }

  /// Takes another account, whose first token replaces the one that serves.
  func replace(by account: ServiceAccount) {
    self.account = account
    token?.renewal = clock()
  }

  /// Returns a token that is good now.
  func current() async throws(PushSetupError) -> String {
    let now = clock()
    // A clock that was set back leaves none good.
    let good = token.flatMap { $0.issued <= now && now < $0.end ? $0 : nil }
    if let good, now < good.renewal { return good.text }
    let grant = self.grant ?? Task { await renew() }
    self.grant = grant
    if let good { return good.text }
    return try await grant.value.get()
  }

  /// Gives up a token that was refused, unless there is a newer one.
  func discard(_ text: String) { if token?.text == text { token = nil } }

  private func renew() async -> Result<String, PushSetupError> {
    let now = clock()
    let account = account
    defer { grant = nil }
    do throws(PushSetupError) {
      let new = try await token(of: account, at: now)
      // Not if the account was replaced meanwhile.
      if account.keyID == self.account.keyID { token = new }
      return .success(new.text)
    } catch {
      token?.renewal = now + Self.renewalPause
      return .failure(error)
    }
  }

  private func token(
    of account: ServiceAccount, at now: Timestamp
  ) async throws(PushSetupError) -> Token {
    // An hour is the longest life of an assertion that Google accepts.
    let claims = JSONWriter.text { claims in
      claims["iss"] = account.email
      claims["aud"] = account.tokenURL
      claims["scope"] = "https://www.googleapis.com/auth/firebase.messaging"
      claims["iat"] = now.seconds
      claims["exp"] = now.seconds + 3600
    }
    let header = ["typ": "JWT", "kid": account.keyID]
    guard let assertion = account.key.token(claims, header: header) else {
      throw failure("failed", "no assertion can be signed")
    }
    let type = "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"
    var request = OutgoingRequest(
      .post, url ?? account.tokenURL,
      body: Array("grant_type=\(type)&assertion=\(assertion)".utf8), timeout: Self.timeout)
    request.fields.append(.contentType, "application/x-www-form-urlencoded")
    let response: IncomingResponse
    do throws(HTTPClientError) { response = try await client.send(request) } catch {
      throw failure("failed", error.message)
    }
    let status = response.status.code
    let answer = try? JSONDecoder().decode(Answer.self, from: Data(response.body))
    guard status == 200 else {
      throw failure(
        400..<500 ~= status ? "refused" : "failed",
        "status \(status) \(answer?.error?.asWord ?? "")")
    }
    guard let text = answer?.access_token, (1...Self.longestToken).contains(text.utf8.count),
      text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }),
      let seconds = answer?.expires_in, (1...86_400).contains(seconds)
    else { throw failure("failed", "the answer holds none") }
    grants["granted"]?.add()
    let life = Duration.seconds(seconds)
    let renewal = now + (life - min(life / 10, Self.longestReserve))
    return Token(text: text, issued: now, renewal: renewal, end: now + life)
  }

  private func failure(_ result: String, _ reason: String) -> PushSetupError {
    grants[result]?.add()
    return PushSetupError(message: reason)
  }
}

/// A service account of Google's, which access tokens are granted to.
package struct ServiceAccount: Sendable {
  private static let needed = [
    "client_email", "private_key", "private_key_id", "token_uri", "project_id",
  ]

  /// The account's name.
  package let email: String
  /// The name of its key at Google.
  let keyID: String
  /// The URL that access tokens are granted at.
  let tokenURL: String
  /// The project that is pushed for: the configured one, else the account's.
  package let project: String
  /// Its key.
  let key: SigningKey

  /// Reads the file that Google gives out; blocks on the disk.
  ///
  /// - Throws: ``PushSetupError`` that names the file and what it lacks.
  package init(_ configuration: FCMConfiguration) throws(PushSetupError) {
    let path = configuration.credentials
    var json = try contents(ofKeyFile: path)
    defer { wipe(&json) }
    func fault(_ words: String) -> PushSetupError { PushSetupError(message: "\(path): \(words)") }
    guard let members = JSONObjectReader.members(of: json) else { throw fault("no JSON object") }
    var texts: [String: String] = [:]
    for member in members {
      if case .text(let text) = member.value, !text.isEmpty { texts[member.name] = text }
    }
    let missing = Self.needed.filter { texts[$0] == nil }
    guard missing.isEmpty else { throw fault("lacks \(missing.joined(separator: ", "))") }
    func text(_ name: String) -> String { texts[name, default: ""] }
    email = text("client_email")
    keyID = text("private_key_id")
    tokenURL = text("token_uri")
    project = configuration.project.isEmpty ? text("project_id") : configuration.project
    guard (email + keyID).utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }),
      project.utf8.allSatisfy({ $0.isLetterOrDigit || ".:-".utf8.contains($0) }),
      WebURL(tokenURL, schemes: ["https"]) != nil
    else { throw fault("client_email, private_key_id, project_id or token_uri is malformed") }
    guard let key = SigningKey(rsaPEM: Array(text("private_key").utf8)) else {
      throw fault("private_key is no PEM key of RSA with 2,048 bits or more without a password")
    }
    self.key = key
  }
}
