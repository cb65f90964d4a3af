internal import HTTPProtocol
internal import Storage
internal import TestSupport
internal import Testing

@testable import Msgr

/// The three ways that fields come, and what can be wrong with them.
@Suite struct FieldTests {
  @Test(arguments: [
    #"{"Username":"anna","Password":"pw"}"#,
    " \r\n\t{ \"Username\" : \"anna\" , \"Password\":\"pw\" } ",
    #"{"User\u006eame":"ann\u0061","Password":"pw","Unknown":{"a":[1,{"Username":"x"}]}}"#,
    #"{"Username":"anna","Password":"pw","x":[-0.1e+99,12345678901234567890123,true,false,null,{},[]],"y":"\"\\\/\ud83d\ude00"}"#,
    "Username=anna&Password=pw", "Password=%70w&&Username=ann%61&Other",
  ])
  func areRead(_ body: String) async throws {
    let fixture = try await Fixture()
    try await fixture.register("anna")
    for type in [
      "application/x-www-form-urlencoded", "application/X-WWW-Form-urlencoded; charset=utf-8",
    ] {
      let response = try await fixture.post("/contacts", raw: body, type: type)
      #expect(response.status == 200)
    }
  }

  @Test func comeAsHeaderFields() async throws {
    let fixture = try await Fixture()
    try await fixture.register("zoë")
    let response = try await fixture.request(
      .post, "/contacts", fields: [("username", "zoë"), ("PASSWORD", "pw")])
    #expect(response.status == 200)
    let twice = try await fixture.request(
      .post, "/contacts", fields: [("Username", "a"), ("Username", "zoë"), ("Password", "pw")])
    #expect(twice.status == 400)
    #expect(twice.field == "Username")
  }

  @Test func headerFieldsDontMixWithABody() async throws {
    let response = try await Fixture().request(
      .post, "/contacts", body: Array("{}".utf8), fields: [("Username", "a"), ("Password", "b")])
    #expect(response.status == 400)
    #expect(response.field == "Username")
  }

  /// Bodies that are no JSON object, nor a form.
  @Test(arguments: [
    "[]", "\"x\"", "null", "1", "{", "{}}", "{\"a\":1,}", "{'Username':'a'}", "{\"a\" 1}", "{} {}",
    "{\"a\":\"\u{1}\"}", "{\"a\":\"\n\"}", "{\"a\":01}", "{\"a\":+1}", "{\"a\":-}", "{\"a\":1.}",
    "{\"a\":.1}", "{\"a\":1e}", "{\"a\":tru}", "{,}", #"{"a":"\ud800"}"#, #"{"a":"\udc00\ud800"}"#,
    #"{"a":1,"\u0061":2}"#,
    "{\"a\":-0.1e+9999}", "{\"a\":[1,]}",
    "{\"a\":NaN}", "// {}\n{}",
    "\u{feff}{}", "{\"Username\":\"a\" /* */}", "{\"a\":\"\\x\"}", "{\"a\":\"\\u00g0\"}", "{\0}",
    "{\"a\":" + String(repeating: "[", count: 5000) + String(repeating: "]", count: 5000) + "}",
    String(repeating: "{\"a\":", count: 5000) + "1" + String(repeating: "}", count: 5000),
    "Username=anna",
  ])
  func bodiesThatAreNone(_ body: String) async throws {
    let response = try await Fixture().post("/contacts", raw: body)
    #expect(response.status == 400)
    #expect(response.object["error"] != nil)
    #expect(response.field == nil)
  }

  @Test(arguments: [
    [0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d] as [UInt8], [0x7b, 0x00, 0x7d, 0x00],
    [0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x7d],
  ])
  func bytesThatAreNoUTF8(_ body: [UInt8]) async throws {
    #expect(try await Fixture().request(.post, "/contacts", body: body).status == 400)
  }

  @Test(arguments: [("gzip", 400), ("identity", 200)])
  func compressedBodiesAreRefused(_ coding: String, _ status: Int) async throws {
    let fixture = try await Fixture()
    try await fixture.register("anna")
    let response = try await fixture.request(
      .post, "/contacts", body: Array(#"{"Username":"anna","Password":"pw"}"#.utf8),
      fields: [("Content-Encoding", coding)])
    #expect(response.status == status)
  }

  /// A JSON value of `UserTo` and its fault.
  @Test(arguments: [
    "1", "null", "true", "[]", "{}", "[\"bert\"]", "\"\"",
    "\"\\u0000\"", "\"be\\nrt\"", "\"be\\u0085rt\"", "\"be\\u2028rt\"", "\"be\\u200brt\"",
    "\"" + String(repeating: "x", count: 65) + "\"",
    "\"e" + String(repeating: "\u{301}", count: 5000) + "\"",
    "\"" + String(repeating: "\\u0301", count: 5000) + "\"",
  ])
  func valuesThatAreNone(_ value: String) async throws {
    let fixture = try await Fixture()
    try await fixture.register("anna")
    let response = try await fixture.post(
      "/message",
      raw: #"{"UserFrom":"anna","Password":"pw","Message":"m","UserTo":\#(value)}"#)
    #expect(response.status == 400)
    #expect(response.field == "UserTo")
    #expect(response.object["error"] is String)
  }

  @Test func unknownFieldsAreIgnored() async throws {
    let fixture = try await Fixture()
    try await fixture.register("anna")
    let response = try await fixture.post(
      "/contacts",
      raw: #"{"x":1,"y":{"Username":2},"Username":"anna","Password":"pw"}"#)
    #expect(response.status == 200)
  }

  @Test(arguments: ["username", "USERNAME", "Username ", "Üsername"])
  func namesAreMatchedExactly(_ name: String) async throws {
    let response = try await Fixture().post("/contacts", [name: "anna", "Password": "pw"])
    #expect(response.status == 400)
    #expect(response.field == "Username")
  }

  @Test(arguments: [
    "Username=anna&Password=%zz", "Username=%ff&Password=a", "Username=%00&Password=a",
  ])
  func formsThatAreNone(_ body: String) async throws {
    let response = try await Fixture().post(
      "/contacts", raw: body, type: "application/x-www-form-urlencoded")
    #expect(response.status == 400)
  }

  @Test func bodiesEndAt64KiB() async throws {
    let fixture = try await Fixture()
    try await fixture.register("anna")
    let start = #"{"Username":"anna","Password":"pw","x":""#
    for (extra, status) in [(0, 200), (1, 413)] {
      let filler = String(repeating: "x", count: 65536 - start.utf8.count - 2 + extra)
      let response = try await fixture.post("/contacts", raw: start + filler + "\"}")
      #expect(response.status == status)
    }
  }
}
