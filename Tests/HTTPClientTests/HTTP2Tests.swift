internal import HTTP2StandIn
internal import HTTPClient
internal import HTTPProtocol
internal import Synchronization
internal import TestSupport
internal import Testing

/// Against a scripted HTTP/2 server.
@Suite(.ownThreads) struct HTTP2Tests {
  private func standIn(
    streams: UInt32 = 1000, _ script: @escaping HTTP2StandIn.Script
  ) throws -> (HTTP2StandIn, HTTPClientOptions) {
    let certificates = try TestCertificates.shared.get()
    let server = try HTTP2StandIn(
      certificate: certificates.server.certificate, key: certificates.server.key,
      streams: streams, script: script)
    var options = HTTPClientOptions()
    options.certificateAuthorities = certificates.authority.certificate
    options.connectionsPerHost = 1
    options.streamsPerConnection = 1000
    return (server, options)
  }

  /// The outcomes of requests at once, a status or an error each, with their numbers.
  private func outcomes(_ count: Int, _ client: WebClient, _ url: String) async -> [String: Int] {
    await withTaskGroup(of: String.self) { group in
      for number in 0..<count {
        group.addTask {
          let request = OutgoingRequest(.post, "\(url)/\(number)", body: [1, 2])
          do throws(HTTPClientError) {
            return String(try await client.send(request).status.code)
          } catch {
            return "\(error.code) \(error)"
          }
        }
      }
      return await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
    }
  }

  @Test func sendsAndReceives() async throws {
    let (server, options) = try standIn { request in
      .respond(
        410, fields: ["x-method": request[":method"] ?? "", "x-token": request["x-token"] ?? ""],
        body: String(decoding: request.body, as: UTF8.self) + " back")
    }
    var fields = HeaderFields()
    fields.append(FieldName("X-Token"), "abc")
    let response = try await WebClient(options).send(
      OutgoingRequest(.post, server.url + "/a", fields: fields, body: Array("there".utf8)))
    #expect(response.version == .http2)
    #expect(response.status == .gone)
    #expect(response.fields.first(FieldName("x-method")) == "POST")
    #expect(response.fields.first(FieldName("x-token")) == "abc")
    #expect(response.body == Array("there back".utf8))
  }

  @Test func manyRequestsShareOneConnection() async throws {
    // More than the hundred that libcurl opens of itself: otherwise none gets a response.
    let (server, options) = try standIn { _ in .respond(200, among: 101) }
    let results = await outcomes(300, try WebClient(options), server.url)
    #expect(results == ["200": 300])
    #expect(server.connections == 1)
  }

  @Test func waitsForWhatTheServerAllowsAtOnce() async throws {
    let (server, options) = try standIn(streams: 3) { _ in .respond(200, after: 5) }
    let client = try WebClient(options)
    // The server's limit is known with its first response; requests that come too early are refused.
    #expect(await outcomes(1, client, server.url) == ["200": 1])
    #expect(await outcomes(30, client, server.url) == ["200": 30])
    #expect(server.mostStreams <= 3)
  }

  @Test func streamsInFlightAreAnsweredAfterGOAWAYLaterOnesGoElsewhere() async throws {
    let (server, options) = try standIn { .respond(200, after: 200, goesAway: $0.connection == 1) }
    let client = try WebClient(options)
    let request = OutgoingRequest(.get, server.url)
    async let inFlight = client.send(request)
    #expect(try await inFlight.status == .ok)
    #expect(try await client.send(request).status == .ok)
    #expect(server.connections == 2)
  }

  @Test func afterWhatTheServerRefusedComesANewConnection() async throws {
    let (server, options) = try standIn { $0.connection == 1 ? .refuse : .respond(200) }
    let client = try WebClient(options)
    let error = await #expect(throws: HTTPClientError.self) {
      try await client.send(OutgoingRequest(.get, server.url))
    }
    #expect(error?.code == .disconnected)
    #expect(await outcomes(1, client, server.url) == ["200": 1])
    #expect(server.connections == 2)
  }

  @Test(arguments: [StandInResponse.reset, .drop])
  func reportsAStreamOrConnectionThatEndedEarly(response: StandInResponse) async throws {
    let seen = Atomic<Int>(0)
    let (server, options) = try standIn { _ in
      seen.add(1, ordering: .relaxed).newValue == 1 ? response : .respond(200)
    }
    let client = try WebClient(options)
    let error = await #expect(throws: HTTPClientError.self) {
      try await client.send(OutgoingRequest(.get, server.url))
    }
    #expect(error?.code == .disconnected)
    #expect(await outcomes(1, client, server.url) == ["200": 1])
  }

  @Test func leavesAConnectionOnWhichNothingIsAnswered() async throws {
    let (server, options) = try standIn { request in
      request.connection == 1 && request[":path"] != "/first" ? .silence : .respond(200)
    }
    let client = try WebClient(options)
    #expect(try await client.send(OutgoingRequest(.get, server.url + "/first")).status == .ok)
    for timeout in [300, 60_000] {
      let request = OutgoingRequest(.get, server.url, timeout: .milliseconds(timeout))
      do throws(HTTPClientError) {
        #expect(try await client.send(request).status == .ok)
        #expect(timeout > 300)
      } catch {
        #expect(error.code == .timedOut)
        #expect(timeout == 300)
      }
    }
    #expect(server.connections == 2)
  }

  @Test func oneSilentStreamDoesNotEndItsConnection() async throws {
    let (server, options) = try standIn { request in
      request[":path"] == "/silent" ? .silence : .respond(200, after: 20)
    }
    let client = try WebClient(options)
    #expect(try await client.send(OutgoingRequest(.get, server.url)).status == .ok)
    let isOver = Atomic(false)
    async let silent: Void = {
      await #expect(throws: HTTPClientError.self) {
        try await client.send(
          OutgoingRequest(.get, server.url + "/silent", timeout: .seconds(3)))
      }
      isOver.store(true, ordering: .relaxed)
    }()
    while !isOver.load(ordering: .relaxed) {
      #expect(try await client.send(OutgoingRequest(.get, server.url)).status == .ok)
    }
    await silent
    #expect(try await client.send(OutgoingRequest(.get, server.url)).status == .ok)
    #expect(server.connections == 1)
  }
}
