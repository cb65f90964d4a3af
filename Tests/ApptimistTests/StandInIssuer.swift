internal import ApptimistProtocol
internal import Cryptography
internal import Foundation
internal import HTTPClient
internal import HTTPProtocol
internal import TestSupport
internal import Testing
internal import Platform

@testable import Apptimist

/// An OpenID Connect issuer of Python's JWT and cryptography libraries, in a process of its own.
final class StandInIssuer: Sendable {
  static let python = "/usr/bin/python3"
  /// Whether Python has what it needs.
  static let isThere =
    (try? ChildProcess.run(python, ["-c", "import jwt, cryptography"]).code) == 0

  let clock = TestClock()
  let encryptionKey = EncryptionKeyPair.generate(for: .session).publicKey
  let authenticationKey = AuthenticationKeyPair.generate(for: .session).publicKey
  let url: String
  private let process: ChildProcess
  private let client: WebClient

  init() async throws {
    let script = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "Python/issuer.py").path
    // An input that stays open: the issuer ends with it.
    process = try ChildProcess(Self.python, ["-B", script], input: nil)
    let line = try await process.line(with: "port ", on: .output)
    url = "http://127.0.0.1:\(try #require(line.split(separator: " ").last))"
    client = try WebClient()
  }

  deinit { process.signal(SIGTERM) }

  /// Tells the issuer something, or asks it.
  @discardableResult func control(_ path: String, _ query: [String: String] = [:]) async throws
    -> String
  {
    let query = query.map { "\($0)=\(PercentEncoding.encode($1))" }.joined(separator: "&")
    let response = try await client.send(
      OutgoingRequest(.get, "\(url)/control/\(path)?\(query)"))
    try #require(response.status == .ok)
    return String(decoding: response.body, as: UTF8.self)
  }

  /// The number of times that the keys were asked for.
  var requests: Int {
    get async throws { try #require(Int(try await control("requests"))) }
  }

  /// A token of a case of the script.
  func token(_ name: String) async throws -> [UInt8] {
    let nonce = Version2.tokenNonce(encryptionKey, authenticationKey)
    return Array(
      try await control(
        "token", ["case": name, "at": "\(clock.now.seconds)", "nonce": nonce]
      ).utf8)
  }

  /// Another client of the issuer, which has no keys yet.
  func provider(_ change: (inout OIDCConfiguration) -> Void = { _ in }) throws -> OIDCClient {
    var configuration = OIDCConfiguration()
    configuration.issuer = url
    configuration.audience = "wallet"
    configuration.timeout = .seconds(2)
    change(&configuration)
    return try OIDCClient(configuration) { [clock] in clock.now }
  }

  /// The decision on a token of a case.
  func decision(
    _ name: String, by provider: OIDCClient, uid: String? = nil, mayFetch: Bool = true
  ) async throws -> IdentityProvider.IdentityDecision {
    let applicant = Applicant(
      encryptionKey: encryptionKey, authenticationKey: authenticationKey,
      uid: uid ?? "\(url)#ann", token: try await token(name))
    return await provider.evaluate(applicant) { mayFetch }
  }
}
