internal import FoundationEssentials
internal import HTTPClient
internal import HTTPProtocol
internal import Cryptography
internal import Platform

/// The public keys of an issuer, fetched when they are needed and kept for an hour.
///
/// One fetch is under way at a time, and none begins within ten seconds of the one before, whatever tokens come.
final class IssuerKeys: Sendable {
  /// A reason for which there are no keys, in words.
  struct Unavailable: Error {
    let reason: String
  }

  private struct Cache {
    /// The keys, and the moment at which they were asked for.
    var keys: (set: JSONWebKeySet, since: Timestamp)?
    /// The last fetch, whatever came of it.
    var attempt: (moment: Timestamp, failure: String?)?
    /// The page at which people sign in.
    var authorization: String?
  }

  /// The documents of the issuer that are fetched one behind the other.
  private enum Fetched { case keys }

  /// The time for which keys are used; a key that an issuer has withdrawn is used no longer than that.
  private static let age = Duration.seconds(3600)
  /// The least time between two fetches.
  private static let pause = Duration.seconds(10)
  /// The longest document, in bytes.
  private static let documentLimit = 256 << 10

  private let configuration: OIDCConfiguration
  private let client: WebClient
  private let clock: @Sendable () -> Timestamp
  private let cache = Lock(Cache())
  private let fetches = KeyedMutex<Fetched>()

  /// Makes a cache without keys.
  ///
  /// - Throws: ``HTTPClientError`` if no client can be made.
  init(_ configuration: OIDCConfiguration, clock: @escaping @Sendable () -> Timestamp) throws {
    var options = HTTPClientOptions()
    options.timeout = configuration.timeout
    options.bodyLimit = Self.documentLimit
    client = try WebClient(options)
    self.configuration = configuration
    self.clock = clock
  }

  /// The key that a token names.
  ///
  /// - Parameter mayFetch: says whether the keys may be fetched because the token names an unknown one; asked only then.
  /// - Returns: nil if the issuer has no such key.
  /// - Throws: ``Unavailable`` if the issuer doesn't say which keys it has.
  func key(
    of token: SignedToken, mayFetch: @Sendable () -> Bool
  ) async throws(Unavailable) -> JSONWebKey? {
    if let set = fresh() {
      if let key = set.key(token.keyID, for: token.algorithm) { return key }
      // A known key of another algorithm doesn't become right by another fetch.
      guard let id = token.keyID, !set.has(id), !isPausing, mayFetch() else { return nil }
    }
    do {
      return try await fetches.withLock(.keys) { () async throws -> JSONWebKey? in
        // The one before may have fetched them.
        if isPausing {
          if let set = fresh() { return set.key(token.keyID, for: token.algorithm) }
          throw Unavailable(reason: cache.withLock { $0.attempt?.failure } ?? "no keys yet")
        }
        return try await fetch().key(token.keyID, for: token.algorithm)
      }
    } catch let error as Unavailable {
      throw error
    } catch {
      throw Unavailable(reason: "the request was cancelled")
    }
  }

  /// Returns the page at which people sign in, or nil if the issuer doesn't say.
  func authorizationPage() async -> String? {
    if fresh() == nil {
      try? await fetches.withLock(.keys) { () async throws(Unavailable) in
        if !isPausing { _ = try await fetch() }
      }
    }
    return cache.withLock(\.authorization)
  }

  /// The keys, unless they are too old.
  private func fresh() -> JSONWebKeySet? {
    let now = clock()
    return cache.withLock {
      $0.keys.flatMap { Self.isWithin(Self.age, $0.since, now) ? $0.set : nil }
    }
  }

  /// True if the last fetch is too recent for another.
  private var isPausing: Bool {
    let now = clock()
    return cache.withLock { $0.attempt.map { Self.isWithin(Self.pause, $0.moment, now) } ?? false }
  }

  /// Returns whether a moment lies no further back than a duration, and not in the future: the clock may have been set
  /// back.
  private static func isWithin(_ duration: Duration, _ moment: Timestamp, _ now: Timestamp) -> Bool
  {
    moment <= now && now < moment + duration
  }

  // MARK: - The issuer's documents

  /// The metadata that an issuer publishes about itself (OpenID Connect Discovery 1.0, section 3).
  private struct Discovery: Decodable {
    let issuer: String
    let jwks_uri: String
    let authorization_endpoint: String?
  }

  private func fetch() async throws(Unavailable) -> JSONWebKeySet {
    let begun = clock()
    do throws(Unavailable) {
      let set = try await fetchKeys()
      let end = clock()
      cache.withLock {
        $0.keys = (set, begun)
        $0.attempt = (end, nil)
      }
      return set
    } catch {
      // Keys that are still fresh stay: an issuer that is down for a moment hasn't withdrawn them.
      let end = clock()
      cache.withLock { $0.attempt = (end, error.reason) }
      throw error
    }
  }

  private func fetchKeys() async throws(Unavailable) -> JSONWebKeySet {
    let document = try await document(configuration.discoveryURL)
    guard let discovery = try? JSONDecoder().decode(Discovery.self, from: Data(document)) else {
      throw Unavailable(reason: "its openid-configuration is malformed")
    }
    guard discovery.issuer.utf8.elementsEqual(configuration.issuer.utf8) else {
      throw Unavailable(reason: "its openid-configuration names another issuer")
    }
    let isSecure = { (url: String) in url.hasPrefix("https://") }
    let isLocal = configuration.issuer.hasPrefix("http://")
    let page = discovery.authorization_endpoint.flatMap { isLocal || isSecure($0) ? $0 : nil }
    cache.withLock { $0.authorization = page }
    guard isLocal || isSecure(discovery.jwks_uri) else {
      throw Unavailable(reason: "its keys are not at an https URL")
    }
    guard let set = try? JSONWebKeySet(parsing: try await self.document(discovery.jwks_uri)) else {
      throw Unavailable(reason: "its set of keys is malformed")
    }
    return set
  }

  private func document(_ url: String) async throws(Unavailable) -> [UInt8] {
    let response: IncomingResponse
    do throws(HTTPClientError) {
      response = try await client.send(OutgoingRequest(.get, url))
    } catch { throw Unavailable(reason: error.message) }
    guard response.status == .ok else {
      throw Unavailable(reason: "it answers \(response.status.code)")
    }
    return response.body
  }
}
