internal import ApptimistProtocol
internal import Cryptography
internal import Foundation
internal import Storage
internal import Testing
internal import TestSupport

@testable import Apptimist

/// One client's address or account doesn't take from the others what they need.
@Suite struct ClientLimitTests {
  private func rows(_ sql: StaticString, on server: TestServer) async throws -> Int {
    try await server.store.read { snapshot in try snapshot.one(sql) { try $0[0] } ?? -1 }
  }

  @Test func oneAddressHasSoManySessionsBeforeTheLogin() async throws {
    try await withServer("unauthenticated_sessions_per_address = 2") { server in
      let silent = try [TestDevice(TestUser(), to: server), TestDevice(TestUser(), to: server)]
      let refused = try TestDevice(TestUser(), to: server)
      #expect(try await refused.next() == .closed(1013))
      // A login gives its place back.
      try silent[0].send(try silent[0].user.new())
      try silent[0].send(silent[0].user.login())
      try await silent[0].settle()
      try await TestDevice.established(TestUser(), on: server).settle()
    }
  }

  @Test func oneAddressHasSoManySessions() async throws {
    try await withServer("sessions_per_address = 2") { server in
      let first = try await TestDevice.established(TestUser(), on: server)
      let second = try await TestDevice.established(TestUser(), on: server)
      let third = try TestDevice(TestUser(), to: server)
      try third.send(try third.user.new())
      try third.send(third.user.login())
      #expect(try await third.next() == .closed(1013))
      try await first.settle()
      try await second.settle()
    }
  }

  @Test func oneAddressHasSoManyHandshakes() async throws {
    try await withServer("handshakes_per_address = 2") { server in
      func status() throws -> TestSocket {
        let key = EncryptionKeyPair.generate(for: .session).publicKey
        return try TestSocket(port: server.port, target: "/siren?\(key.hex)")
      }
      #expect(try status().status == 101)
      #expect(try status().status == 101)
      let refused = try status()
      #expect(refused.status == 429)
      #expect(refused.head.lowercased().contains("retry-after: "))
    }
  }

  @Test func oneAddressMakesSoManyAccounts() async throws {
    try await withServer("accounts_per_address = 1") { server in
      let user = TestUser()
      _ = try await TestDevice.established(user, on: server)
      let refused = try TestDevice(TestUser(), to: server)
      try refused.send(try refused.user.new())
      #expect(try await refused.next() == .closed(1008))
      // A user with an account logs in as before.
      try await TestDevice.established(user, on: server).settle()
    }
  }

  @Test func aLongMessageIsTakenAfterTheLoginOnly() async throws {
    try await withServer { server in
      let stranger = try TestDevice(TestUser(), to: server)
      try stranger.send(header: [1, 7], data: Array(repeating: 0, count: 5_000))
      #expect(try await stranger.next() == .closed(1009))
      // Sent in one go with the login, it is long only once that is decided.
      let user = TestUser()
      let device = try TestDevice(user, to: server)
      try device.send(try user.new())
      try device.send(user.login())
      let text = String(repeating: "a", count: 500_000)
      try device.send(text, to: user.key)
      try await device.settle()
      #expect(
        try await rows("SELECT max(length(data)) FROM apptimist_contents", on: server) > 500_000)
    }
  }

  @Test func aConnectionWithoutALoginLeavesNothingOnDisk() async throws {
    try await withServer { server in
      let device = try TestDevice(TestUser(), to: server)
      try device.send(try device.user.new())
      let other = try await TestDevice.established(TestUser(), on: server)
      try await other.settle()
      #expect(try await rows("SELECT count(*) FROM apptimist_ephemeral_keys", on: server) == 1)
      // It is claimed nevertheless.
      let target = "/siren?\(device.ephemeral.publicKey.hex)"
      #expect(try TestSocket(port: server.port, target: target).status == 400)
    }
  }

  @Test func whatAUserPostsToForumsHasAQuota() async throws {
    try await withServer("forum_posts_size = \"10KiB\"") { server in
      let author = try await TestDevice.established(TestUser(), on: server)
      let readers = (0..<4).map { _ in TestUser() }
      for reader in readers { _ = try await TestDevice.established(reader, on: server) }
      let forum = TestUser("forum")
      try author.send(try forum.new())
      #expect(
        try await author.write(
          bytes: readers.flatMap(\.key.bytes), to: "subscribers", in: forum.key) == .done)
      // Four copies of some 1,100 bytes fit twice.
      let text = String(repeating: "a", count: 1_000)
      for time in 0..<5 { try author.send(text, to: forum.key, time: UInt64(time)) }
      try await author.settle()
      // Messages to users are no posts.
      try author.send(text, to: readers[0].key)
      try await author.settle()
      #expect(try await rows("SELECT count(*) FROM apptimist_contents", on: server) == 3)
    }
  }

  @Test func whatComesFromAnAddressHasAQuota() async throws {
    try await withServer("messages_size_per_address = \"3KiB\"") { server in
      let user = try await TestDevice.established(TestUser(), on: server)
      let text = String(repeating: "a", count: 1_000)
      for time in 0..<5 {
        try user.send(text, to: user.user.key, time: UInt64(time))
        try await user.settle()
      }
      #expect(try await rows("SELECT count(*) FROM apptimist_contents", on: server) == 2)
    }
  }

  @Test func filesCountToo() async throws {
    try await withServer("messages_size_per_address = \"3KiB\"") { server in
      let content = [UInt8](repeating: 1, count: 1_400)
      // However many accounts the address has.
      for number in 0..<3 {
        let device = try await TestDevice.established(TestUser(), on: server)
        let error = try await device.write(bytes: content, to: "file", in: device.user.key)
        #expect(error == (number < 2 ? .done : .overQuota))
      }
    }
  }

  @Test func aPostToManyIsDeliveredInPiecesToEach() async throws {
    try await withServer { server in
      let author = try await TestDevice.established(TestUser(), on: server)
      let forum = TestUser("forum")
      try author.send(try forum.new())
      // Made without their devices.
      let users = (0..<1_200).map { _ in EncryptionKeyPair.generate(for: .session).publicKey }
      let store = ApptimistStore(store: server.store, limits: ApptimistStore.Limits())
      for user in users {
        _ = try await store.createUser(
          RequestedAccount(
            key: user, authenticationKey: author.user.authentication.publicKey,
            name: try #require(AccountName("r")), uid: ""), at: ApptimistStore.now)
      }
      #expect(
        try await author.write(bytes: users.flatMap(\.bytes), to: "subscribers", in: forum.key)
          == .done)
      for time in 0..<2 { try author.send("to all", to: forum.key, time: UInt64(time)) }
      try await author.settle()
      #expect(
        try await rows("SELECT CAST(sum(holders) AS BIGINT) FROM apptimist_contents", on: server)
          == 2_400)
      #expect(
        try await rows("SELECT max(holders) FROM apptimist_contents", on: server) == 512)
    }
  }
}
