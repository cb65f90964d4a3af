import HTTPClient
import HTTPProtocol
import Testing

/// What `[server]` limits holds for every service, but where a protocol has a limit of its own.
@Suite(.timeLimit(.minutes(2))) struct LimitTests {
  @Test func bodiesAreAsLongAsConfigured() async throws {
    let site = try Site()
    try site.configure(server: "limits = { body = \"1KiB\" }")
    try await site.serving { _ in
      func post(_ path: String, _ count: Int) async throws -> UInt16 {
        let request = OutgoingRequest(
          .post, site.url + path, body: [UInt8](repeating: 0x78, count: count))
        return try await HTTPClient().send(request).status.code
      }
      #expect(try await post("/contacts", 1024) == 400)
      #expect(try await post("/contacts", 1025) == 413)
      #expect(try await post("/api/v1/verifyXMLDSig", 1 << 20) == 400)
    }
  }
}
