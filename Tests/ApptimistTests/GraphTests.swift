internal import Observability
internal import TestSupport
internal import Testing
internal import Platform

@testable import Apptimist

@Suite("Graph's responses") struct GraphTests {
  private static let good =
    #"{"data":{"app_id":"1000","type":"USER","is_valid":true,"user_id":"7","expires_at":2000}}"#

  private static func confirms(_ body: String) -> Bool {
    GraphClient.confirms(
      Array(body.utf8), uid: "7", appID: "1000", now: Timestamp(seconds: 1999))
  }

  @Test func acceptsAGoodToken() {
    #expect(Self.confirms(Self.good))
    #expect(Self.confirms(Self.good.replacing("2000", with: "0")))
    #expect(Self.confirms(Self.good.replacing(#","expires_at":2000"#, with: "")))
    // So they stand in Graph's own documentation.
    #expect(
      Self.confirms(Self.good.replacing(#""7""#, with: "7").replacing(#""1000""#, with: "1000")))
  }

  @Test(arguments: [
    ("1000", "9999"), ("\"7\"", "\"8\""), ("true", "false"), ("2000", "1999"), ("USER", "PAGE"),
    ("\"user_id\":\"7\",", ""), ("}}", "}"), ("\"7\"", "8"),
    ("\"7\"", "7.5"), ("\"7\"", "true"),
  ])
  func refuses(what: String, with other: String) {
    #expect(!Self.confirms(Self.good.replacing(what, with: other)))
  }

  @Test(arguments: ["", "[]", "null", "<html>", String(repeating: "[", count: 100_000)])
  func refusesOtherAnswers(body: String) {
    #expect(!Self.confirms(body))
  }
}
