internal import Foundation
internal import HTTPProtocol
internal import Storage
internal import TestSupport
internal import Testing

@testable import Msgr

/// What the accounts of one site have stored has a bound, in inboxes and in topics.
@Suite struct StoredSizeTests {
  /// Each message of the tests takes 1,000 bytes and the overhead: there is room for three.
  private static let text = String(repeating: "x", count: 1000)

  private func register(
    _ name: String, from peer: String, _ fixture: Fixture
  ) async throws {
    let fields = ["Username": name, "Password": "pw", "DeviceID": Fixture.device(name)]
    #expect(try await fixture.post("/register", fields, from: peer).status == 200)
  }

  private func fixture(in folder: TemporaryFolder = TemporaryFolder()) async throws -> Fixture {
    try await Fixture("stored_size_per_address = \"4KiB\"\n", in: folder)
  }

  @Test func aSiteHasWhatItsAccountsHave() async throws {
    let fixture = try await fixture()
    try await register("anna", from: "192.0.2.1", fixture)
    try await register("bert", from: "192.0.2.200", fixture)
    try await register("cleo", from: "198.51.100.1", fixture)
    #expect(try await fixture.send(Self.text, from: "anna", to: "cleo").status == 200)
    #expect(try await fixture.send(Self.text, from: "bert", to: "cleo").status == 200)
    #expect(try await fixture.send(Self.text, from: "bert", to: "bert").status == 200)
    for name in ["anna", "bert"] {
      #expect(try await fixture.send(Self.text, from: name, to: "cleo").status == 429)
    }
    #expect(try await fixture.send(Self.text, from: "cleo", to: "anna").status == 200)
  }

  @Test func theSumIsTheStores() async throws {
    let folder = TemporaryFolder()
    do {
      let fixture = try await fixture(in: folder)
      try await register("anna", from: "2001:db8:1:1::1", fixture)
      try await register("bert", from: "2001:db8:1:2::1", fixture)
      try await register("cleo", from: "2001:db8:2:1::1", fixture)
      for _ in 0..<3 {
        #expect(try await fixture.send(Self.text, from: "anna", to: "cleo").status == 200)
      }
      await fixture.store.close()
    }
    let fixture = try await fixture(in: folder)
    #expect(try await fixture.send(Self.text, from: "bert", to: "cleo").status == 429)
    #expect(try await fixture.send(Self.text, from: "cleo", to: "bert").status == 200)
  }

  @Test func topicsAndTheirCopiesCount() async throws {
    let fixture = try await fixture()
    try await register("anna", from: "192.0.2.1", fixture)
    try await register("bert", from: "198.51.100.1", fixture)
    try await register("cleo", from: "203.0.113.1", fixture)
    let anna = ["Username": "anna", "Password": "pw", "Topic": "news"]
    #expect(
      try await fixture.post("/msgr/topics/make", anna.merging(["Everyone": "read"]) { $1 }).status
        == 200)
    for name in ["bert", "cleo"] {
      let fields = ["Username": name, "Password": "pw", "Topic": "news"]
      #expect(try await fixture.post("/msgr/topics/subscribe", fields).status == 200)
    }
    // One of those who have subscribed has no more room; the topic has the message in any case.
    for _ in 0..<3 {
      #expect(try await fixture.send(Self.text, from: "bert", to: "cleo").status == 200)
    }
    func publish() async throws -> Int {
      let password = Data("anna:pw".utf8).base64EncodedString()
      return try await fixture.request(
        .post, "/news", body: Array(Self.text.utf8),
        fields: [("Authorization", "Basic \(password)")],
        isDialect: true
      ).status
    }
    #expect(try await publish() == 200)
    #expect(try await fixture.texts("bert").isEmpty)
    #expect(try await fixture.texts("cleo").count == 4)
    #expect(try await publish() == 200)
    #expect(try await publish() == 200)
    // The copies count for those who have subscribed.
    #expect(try await fixture.send(Self.text, from: "cleo", to: "anna").status == 429)
    #expect(try await publish() == 429)
  }
}
