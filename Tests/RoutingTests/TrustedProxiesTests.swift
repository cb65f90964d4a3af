internal import Formats
internal import HTTPProtocol
internal import HTTPServer
internal import Observability
internal import Routing
internal import TestSupport
internal import Testing

@Suite struct TrustedProxiesTests {
  private static let ranges = ["10.0.0.0/8", "fd00::/8", "127.0.0.1"].compactMap {
    AddressRange($0)
  }

  @Test(
    arguments: [
      // Only proxies are believed.
      ("192.0.2.1", ["1.2.3.4"], ["https"], "192.0.2.1", false),
      ("10.0.0.1", [], [], "10.0.0.1", false),
      ("10.0.0.1", ["1.2.3.4"], ["https"], "1.2.3.4", true),
      ("10.0.0.1", ["1.2.3.4"], ["HTTPS"], "1.2.3.4", true),
      ("10.0.0.1", ["1.2.3.4"], [], "1.2.3.4", false),
      // Anyone may have written the part before the first stranger.
      ("10.0.0.1", ["9.9.9.9, 1.2.3.4, 10.0.0.2"], ["https, http"], "1.2.3.4", false),
      ("10.0.0.1", ["9.9.9.9", "1.2.3.4"], [], "1.2.3.4", false),
      ("10.0.0.1", ["10.0.0.3, 10.0.0.2"], [], "10.0.0.3", false),
      ("10.0.0.1", ["1.2.3.4, nonsense"], [], "10.0.0.1", false),
      ("10.0.0.1", ["1.2.3.4, , 10.0.0.2"], [], "10.0.0.2", false),
      ("fd00::1", ["2001:db8::1"], ["https"], "2001:db8::1", true),
      ("10.0.0.1", ["[2001:db8::1]:443"], [], "2001:db8::1", false),
      ("10.0.0.1", ["1.2.3.4:5678"], [], "1.2.3.4", false),
      ("::ffff:10.0.0.1", ["1.2.3.4"], [], "1.2.3.4", false),
      // A client's letter that makes one character with the comma behind it.
      ("10.0.0.1", ["9.9.9.9\u{D4E}, 1.2.3.4"], ["http\u{D4E}, https"], "1.2.3.4", true),
      // A peer at a Unix-domain socket is on this machine.
      ("", ["1.2.3.4"], ["https"], "1.2.3.4", true),
    ] as [(String, [String], [String], String, Bool)])
  func originIsToldByProxies(
    _ peer: String, _ addresses: [String], _ schemes: [String], _ client: String,
    _ isSecure: Bool
  ) throws {
    let fields =
      addresses.map { (name: "X-Forwarded-For", value: $0) }
      + schemes.map { (name: "X-Forwarded-Proto", value: $0) }
    let head = try RequestHead(method: .get, path: "/", authority: "h", fields: fields)
    let origin = RequestOrigin(peer: peer, id: 7)
    let seen = TrustedProxies(Self.ranges).origin(of: head, from: origin)
    #expect(seen.peer == client && seen.isSecure == isSecure && seen.id == 7)
    #expect(seen.client == IPAddress(client).map(ClientNetwork.init(of:)))
    #expect(TrustedProxies([]).origin(of: head, from: origin).peer == peer)
  }

  @Test func handlersGetTheOrigin() async throws {
    var router = Router(service: "s")
    router.get("/inline") { request, _ in
      Response(.ok, type: "text/plain", text: request.origin.peer)
    }
    router.get("/task") { request, _ in
      await Task.yield()
      return Response(.ok, type: "text/plain", text: request.origin.peer)
    }
    let table = try RouteTable(
      [router], proxies: TrustedProxies(Self.ranges), log: Log(level: .error, descriptor: -1))
    for path in ["/inline", "/task"] {
      let response = try await table.send(
        .get, path, fields: [("X-Forwarded-For", "1.2.3.4")], peer: "10.0.0.1")
      #expect(response.text == "1.2.3.4")
    }
  }
}
