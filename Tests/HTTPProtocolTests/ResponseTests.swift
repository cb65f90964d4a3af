internal import HTTPProtocol
internal import Testing

struct ResponseTests {
  private func text(
    _ response: Response, keepAlive: Bool = true, version10: Bool = false, headOnly: Bool = false
  ) -> String {
    var output: [UInt8] = []
    response.serializeHead(
      into: &output, date: Array("Date: d\r\n".utf8), keepAlive: keepAlive, version10: version10,
      headOnly: headOnly)
    return String(decoding: output, as: UTF8.self)
  }

  @Test func isWritten() {
    let response = Response(.ok, type: "text/plain", text: "hello")
    let start = "HTTP/1.1 200 OK\r\nDate: d\r\nContent-Type: text/plain\r\n"
    #expect(text(response) == start + "Content-Length: 5\r\n\r\n")
    #expect(text(response, headOnly: true) == text(response))
    #expect(text(response, version10: true).hasPrefix(start + "Connection: keep-alive\r\n"))
    #expect(text(response, keepAlive: false).hasPrefix(start + "Connection: close\r\n"))
    #expect(
      text(response, keepAlive: false, version10: true).hasPrefix(start + "Connection: close\r\n"))
  }

  @Test(arguments: [
    (Status(100), false), (.noContent, false), (.notModified, false), (.notFound, true),
    (.ok, true),
  ])
  func knowsWhenThereIsALength(status: Status, hasLength: Bool) {
    let response = Response(status)
    #expect(text(response).contains("Content-Length: 0\r\n") == hasLength)
    #expect(!text(response, headOnly: true).contains("Content-Length"))
    #expect(text(response).hasSuffix("\r\n\r\n"))
  }

  @Test func upgradesAreNamed() {
    #expect(text(Response(.switchingProtocols)).contains("\r\nConnection: Upgrade\r\n"))
    #expect(
      text(Response(.upgradeRequired), keepAlive: false)
        .contains("\r\nConnection: close, Upgrade\r\n"))
    #expect(Response.continueLine == Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
  }

  @Test func valuesCannotEndTheirLine() {
    var fields = HeaderFields()
    fields.append(.location, "/a\r\nSet-Cookie: x\u{0}\u{7f}")
    #expect(fields.pairs.count == 1)
    #expect(fields.first(FieldName("LOCATION")) == "/a  Set-Cookie: x  ")
  }

  @Test func everyStatusHasThreeDigits() {
    for code in [UInt16(0), 99, 600, .max] { #expect(Status(code) == .internalServerError) }
    #expect(text(Response(Status(599))).hasPrefix("HTTP/1.1 599 \r\n"))
  }
}
