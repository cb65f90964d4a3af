internal import HTTPProtocol
internal import TestSupport
internal import Testing

@testable import Msgr

/// The first clients, which send JSON under a form's content type with the field names of the protocol's text, and no
/// token.
@Suite struct ClientOf2011Tests {
  private func post(
    _ fixture: Fixture, _ path: String, _ body: String
  ) async throws -> (status: Int, body: String) {
    let response = try await fixture.request(
      .post, path, body: Array(body.utf8),
      fields: [("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")])
    return (response.status, String(decoding: response.bytes, as: UTF8.self))
  }

  @Test func goesThroughTheWholeText() async throws {
    let fixture = try await Fixture()
    let phone = Fixture.device("phone")
    for (path, body, status) in [
      ("/register", #"{"Username":"anna","Password":"pw","DeviceID":"\#(phone)"}"#, 200),
      ("/register", #"{"Username":"anna","Password":"x","DeviceID":"\#(phone)"}"#, 403),
      ("/register", #"{"Username":"bert","Password":"pw"}"#, 400),
      (
        "/register",
        #"{"Password":"pw","DeviceID":"\#(Fixture.device("bert"))","Username":"bert"}"#, 200
      ),
      ("/login", #"{"Username":"anna","Password":"pw","DeviceID":"\#(phone)"}"#, 200),
      ("/login", #"{"Username":"anna","Password":"no","DeviceID":"\#(phone)"}"#, 403),
      ("/add", #"{"Username":"anna","Passwword":"pw","AddUser":"bert"}"#, 200),
      ("/add", #"{"Username":"bert","Passwword":"pw","AddUser":"anna"}"#, 200),
      ("/message", #"{"UserFrom":"anna","Password":"no","UserTo":"bert","Message":"hi"}"#, 403),
      ("/message", #"{"UserFrom":"anna","Password":"pw","UserTo":"bert"}"#, 400),
      ("/message", #" {"UserFrom":"anna","Password":"pw","UserTo":"bert","Message":"hi"}"#, 200),
    ] {
      #expect(try await post(fixture, path, body).status == status, "\(path) \(body)")
    }
    let contacts = try await post(fixture, "/contacts", #"{"Username":"anna","Password":"pw"}"#)
    #expect(contacts.status == 200 && contacts.body == #"["bert"]"#)
    #expect(try await fixture.texts("bert") == ["anna wants to add you", "hi"])
    #expect(try await PushFixture.texts(fixture.store) == ["anna wants to add you", "hi"])
  }

  /// The text calls fields headers; they may come as header fields and as a form.
  @Test func mayPostFieldsTheOtherWays() async throws {
    let fixture = try await Fixture()
    try await fixture.register("anna")
    try await fixture.register("bert")
    let header = try await fixture.request(
      .post, "/message",
      fields: [("UserFrom", "anna"), ("Password", "pw"), ("UserTo", "bert"), ("Message", "one")])
    let form = try await fixture.post(
      "/message", raw: "UserFrom=anna&Password=pw&UserTo=bert&Message=two",
      type: "application/x-www-form-urlencoded")
    #expect(header.status == 200 && form.status == 200)
    #expect(try await fixture.texts("bert") == ["one", "two"])
  }
}
