internal import HTTPClient
internal import HTTPProtocol
internal import TestSupport
internal import Testing

/// Whom the client trusts, and whom it tells who it is.
@Suite(.ownThreads) struct TLSTests {
  private let certificates: TestCertificates

  init() throws { certificates = try TestCertificates.shared.get() }

  private func failure(_ options: HTTPClientOptions, _ url: String) async throws
    -> HTTPFailure?
  {
    let client = try WebClient(options)
    let error = await #expect(throws: HTTPClientError.self) {
      try await client.send(OutgoingRequest(.get, url))
    }
    return error?.code
  }

  @Test func trustsTheGivenAuthoritiesOnlyForTheRightHost() async throws {
    let server = try PythonServer(identity: certificates.server)
    let url = "https://127.0.0.1:\(server.port)/"
    #expect(try await failure(HTTPClientOptions(), url) == .tls)
    var options = HTTPClientOptions()
    options.certificateAuthorities = certificates.authority.certificate
    #expect(try await WebClient(options).send(OutgoingRequest(.get, url)).status == .ok)
    #expect(
      try await failure(options, "https://127.0.0.2:\(server.port)/") == .notConnected)
    options.certificateAuthorities = certificates.client.key
    #expect(try await failure(options, url) == .tls)
    options.certificateAuthorities = "/absent"
    #expect(try await failure(options, url) == .tls)
  }

  @Test func refusesACertificateOfAnotherHost() async throws {
    let server = try PythonServer(identity: certificates.authority)
    var options = HTTPClientOptions()
    options.certificateAuthorities = certificates.authority.certificate
    #expect(try await failure(options, "https://127.0.0.1:\(server.port)/") == .tls)
  }

  @Test func showsItsCertificate() async throws {
    let server = try PythonServer(
      identity: certificates.server, clientCA: certificates.authority.certificate)
    let url = "https://127.0.0.1:\(server.port)/"
    var options = HTTPClientOptions()
    options.certificateAuthorities = certificates.authority.certificate
    let code = try await failure(options, url)
    #expect(code == .tls || code == .disconnected)
    options.clientCertificate = (certificates.client.certificate, certificates.client.key)
    #expect(try await WebClient(options).send(OutgoingRequest(.get, url)).status == .ok)
    options.clientCertificate = ("/absent", certificates.client.key)
    #expect(try await failure(options, url) == .tls)
  }
}
