internal import HTTPClient
internal import HTTPProtocol
internal import TestSupport
internal import Testing

/// The limits of `[server]`, which hold for every service without limits of its own.
@Suite(.timeLimit(.minutes(2))) struct LimitTests {
  private func post(_ count: Int, to url: String) async throws -> UInt16 {
    let request = OutgoingRequest(.post, url, body: [UInt8](repeating: 0x78, count: count))
    return try await WebClient().send(request).status.code
  }

  @Test func bodiesAreAsLongAsConfigured() async throws {
    let site = try Site()
    try site.configure(server: "limits = { body = \"1KiB\" }")
    let codes = try await site.serving { _ in
      [
        try await post(1024, to: "\(site.url)/contacts"),
        try await post(1025, to: "\(site.url)/contacts"),
        try await post(1 << 20, to: "\(site.url)/api/v1/verifyXMLDSig"),
      ]
    }
    #expect(codes == [400, 413, 400])
  }
}
