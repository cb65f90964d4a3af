internal import Foundation
internal import HTTPClient
internal import HTTPProtocol
internal import Storage
internal import TestSupport
internal import Testing
internal import Platform

@testable import TokenScriptRepo

/// Tests of publishing files without a signing time.
@Suite(.ownThreads) struct AcceptanceTests: PublishingSuite {
  let fixture: RepositoryFixture

  init() throws { fixture = try RepositoryFixture() }

  @Test func theTimeOfTheFirstAcceptanceCounts() async throws {
    var server = try await server()
    let (first, second) = (
      try await signWithoutTime(), try await signWithoutTime(.shop, note: "second")
    )
    let response = try await send(server, first)
    #expect(response.status == .created)
    #expect(response[.lastModified] == HTTPDate(Self.now).text)
    #expect(response.text.contains("\"accepted\":\"2023-11-14T22:13:20.000Z\""))
    #expect(response.text.contains("\"time\":null"))
    // Another one in the same second is later by one.
    let next = try await send(server, second)
    #expect(next.status == .ok && next[.lastModified] == HTTPDate(Self.now + 1).text)
    fixture.time.withLock { $0 += 100 }
    server = try await self.server()
    let again = try await send(server, second)
    #expect(again.status == .ok && again[.lastModified] == HTTPDate(Self.now + 1).text)
    let old = try await send(server, first)
    #expect(old.status == .conflict)
    #expect(try await server.get(Self.place).bytes == second)
    // A signed time has to be later, and then nothing without one comes back.
    #expect(try await send(server, sign(at: Self.now + 1)).status == .conflict)
    let signed = try sign(at: Self.now + 2)
    #expect(try await send(server, signed).status == .ok)
    for file in [first, second, try await signWithoutTime(.shop, note: "third")] {
      #expect(try await send(server, file).status == .conflict)
    }
    #expect(try await server.get(Self.place).bytes == signed)
  }

  @Test func anOldFileDoesNotComeBackAtAnotherPlace() async throws {
    let server = try await server()
    let both = ["1", "5"]
    let old = try await signWithoutTime(on: both)
    #expect(try await send(server, old).status == .created)
    #expect(try await send(server, old, to: "/2020/06/chain/5/\(alice)").status == .ok)
    #expect(try await send(server, signWithoutTime(on: both, note: "newer")).status == .ok)
    #expect(try await send(server, old, to: "/2020/06/chain/5/\(alice)").status == .conflict)
  }

  @Test func ofManyAtOnceEachIsAcceptedOnce() async throws {
    let server = try await server()
    let files = try await [
      signWithoutTime(.shop, note: "1"), signWithoutTime(.shop, note: "2"),
      signWithoutTime(.shop, note: "3"),
    ]
    let statuses = try await withThrowingTaskGroup(of: UInt16.self) { group in
      for file in files + files + files {
        group.addTask { try await self.send(server, file).status.code }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(statuses.count { $0 == 201 } == 1)
    #expect(statuses.allSatisfy { [200, 201, 409].contains($0) })
    let last = try await server.get(Self.place)
    #expect(files.contains(last.bytes))
    #expect(last[.lastModified] == HTTPDate(Self.now + 2).text)
  }

  @Test func aTimeThatNothingCoversIsNone() async throws {
    let object = """
      <ds:Object><x:QualifyingProperties xmlns:x="http://uri.etsi.org/01903/v1.3.2#" Target="">\
      <x:SignedProperties Id="p"><x:SignedSignatureProperties>\
      <x:SigningTime>2023-11-14T22:13:20.000Z</x:SigningTime></x:SignedSignatureProperties>\
      </x:SignedProperties></x:QualifyingProperties></ds:Object>
      """
    let response = try await send(try await server(), signWithoutTime(object: object))
    #expect(response.status == .badRequest)
    #expect(try refusal(response).error.contains("does not cover"))
  }

  @Test func strangersStayStrangers() async throws {
    let server = try await server()
    #expect(try await send(server, signWithoutTime()).status == .created)
    #expect(try await send(server, signWithoutTime(.rival)).status == .forbidden)
  }

  @Test func aPlaceTakesAThousandDigests() async throws {
    let store = try await fixture.store()
    let server = try await fixture.server(
      "[tokenscript.publish]\npolicy = \"open\"", store: store, publicURL: "https://repo.example")
    #expect(try await send(server, signWithoutTime()).status == .created)
    try await store.write { transaction in
      for number in 1..<PublicationQuota.digests {
        try transaction.execute(
          """
          INSERT INTO tokenscript_accepted
            SELECT signer, schema, ?, contract, chain, 0 FROM tokenscript_accepted LIMIT 1
          """, [UInt8](repeating: 0, count: 30) + [UInt8(number / 256), UInt8(number % 256)])
      }
    }
    let refused = try await send(server, signWithoutTime(.shop, note: "more"))
    #expect(refused.status.code == 507)
    #expect(try refusal(refused).error.contains("awd repo sign"))
    #expect(try await send(server, sign(at: Self.now + 1)).status == .ok)
  }

  /// A server that is killed at once after a response knows all that it has promised.
  @Test func nothingOldComesBackAfterAKill() async throws {
    let folder = fixture.folder
    let configuration = "\(folder)/awd.toml"
    try """
    [server]
    data = "\(folder)/data"
    [tokenscript]
    repository = "\(fixture.root)"
    hosts = ["localhost"]
    [tokenscript.publish]
    policy = "open"
    """.write(toFile: configuration, atomically: true, encoding: .utf8)
    let files = try await [
      signWithoutTime(note: "1"), signWithoutTime(note: "2"), signWithoutTime(note: "3"),
    ]
    let client = try WebClient()
    /// Sends files in turn to a server that is then killed.
    func statuses(_ files: [[UInt8]]) async throws -> [UInt16] {
      let server = try ChildProcess.awd(
        ["serve", "--config", configuration], home: folder,
        environment: ["AWD_SERVER_LISTEN": "127.0.0.1:0"])
      let line = try await server.line(with: "listening at=http://")
      let port = try #require(line.firstMatch(of: /127\.0\.0\.1:([1-9][0-9]+)/)?.1)
      let url = "http://localhost:\(port)\(Self.place)"
      var statuses: [UInt16] = []
      for file in files {
        statuses.append(
          try await client.send(OutgoingRequest(.put, url, body: file)).status.code)
      }
      server.signal(SIGKILL)
      _ = try await server.ended()
      return statuses
    }
    #expect(try await statuses([files[0], files[1]]) == [201, 200])
    #expect(try await statuses([files[0], files[1], files[2]]) == [409, 200, 200])
    #expect(try await statuses([files[1], files[0], files[2]]) == [409, 409, 200])
  }
}
