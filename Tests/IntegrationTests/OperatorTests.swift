internal import HTTPProtocol
internal import TestSupport
internal import Testing

/// The operator's routes answer at `admin_listen` if there is one, and then nowhere else.
@Suite(.timeLimit(.minutes(2))) struct OperatorTests {
  private static let paths = ["/metrics", "/status", "/debug/pushes", "/siren/service.json"]

  private func codes(_ site: Site) async throws -> [UInt16] {
    try await site.serving { _ in
      var codes: [UInt16] = []
      for path in Self.paths { codes.append(try await site.status(.get, path)) }
      return codes
    }
  }

  @Test func oneAddressForAll() async throws {
    #expect(try await codes(try Site()) == [200, 200, 200, 200])
  }

  @Test func anAddressOfItsOwn() async throws {
    let site = try Site()
    try site.configure(server: "admin_listen = \"127.0.0.1:0\"")
    let elsewhere = try await codes(site)
    // Msgr's topics are at any name; none of them shows what is the operator's.
    let hidden: Set<UInt16> = [404, 405]
    #expect(elsewhere.count == 4)
    #expect(hidden.isSuperset(of: elsewhere.prefix(3)))
    #expect(elsewhere.last == 200)
    try site.configure(
      listen: "127.0.0.1:0", server: "admin_listen = \"127.0.0.1:\(site.port)\"")
    #expect(try await codes(site) == [200, 200, 200, 404])
  }
}
