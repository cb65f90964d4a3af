internal import TestSupport
internal import Testing
internal import HTTPClient

@Suite struct WebSocketURLTests {
  @Test(
    arguments: [
      ("ws://siren.apptimist.co/siren", false, "siren.apptimist.co", 80, "/siren", nil),
      ("WSS://a.example", true, "a.example", 443, "/", nil),
      ("ws://127.0.0.1:8080/siren?00ff", false, "127.0.0.1", 8080, "/siren", "00ff"),
      ("ws://[::1]:9/x?a=b?c", false, "::1", 9, "/x", "a=b?c"),
      ("ws://h?q", false, "h", 80, "/", "q"), ("ws://h/?", false, "h", 80, "/", ""),
    ] as [(String, Bool, String, UInt16, String, String?)])
  func reads(
    _ text: String, _ isSecure: Bool, _ host: String, _ port: UInt16, _ path: String,
    _ query: String?
  ) throws {
    let url = try #require(WebSocketURL(text))
    #expect(url.isSecure == isSecure && url.host == host && url.port == port)
    #expect(url.path == path && url.query == query)
    #expect(WebSocketURL("\(url)") == url)
  }

  @Test(arguments: [
    "", "ws:", "ws://", "http://h/", "ws:///path", "ws://h:/", "ws://h:0/", "ws://h:65536/",
    "ws://h:+1/", "ws://user@h/", "ws://u:p@h/", "ws://h/#f", "ws://h/a b", "ws://h/\r\nX: y",
    "ws://[::1/", "ws://[h]/", "ws://[::1]x/", "ws://é/", "ws://h\\x/", "ws://a:1:2/", "ws:/h/",
    "ws://127.1/", "ws://a%62/", "ws://[fe80::1%25eth0]/", "ws://h:080/",
    "ws://h/" + String(repeating: "a", count: 4096),
  ])
  func refuses(_ text: String) {
    #expect(WebSocketURL(text) == nil)
  }

  @Test func keepsItsQueryPrintable() throws {
    var url = try #require(WebSocketURL("ws://h/x"))
    url.query = "a=1"
    url.query = "b\r\nc"
    #expect("\(url)" == "ws://h/x?a=1")
  }
}
