internal import ApptimistProtocol
internal import Cryptography
internal import TestSupport
internal import Testing

@testable import Apptimist

@Suite("Files over sockets") struct FileTests {
  @Test func writesAndReads() async throws {
    try await withServer { server in
      let alice = try await TestDevice.established(TestUser("alice"), on: server)
      let bob = try await TestDevice.established(TestUser("bob"), on: server)
      let key = alice.user.key
      #expect(try await alice.write("first", to: "notes", in: key) == .done)
      #expect(try await bob.read("notes", in: key) == (.done, "first"))
      #expect(try await alice.write("", to: "notes", in: key) == .done)
      #expect(try await bob.read("notes", in: key) == (.done, ""))
      #expect(try await alice.write("hidden", to: ".notes", in: key) == .done)
      #expect(try await bob.read(".notes", in: key).error == .notPermitted)
      #expect(try await bob.read(".none", in: key).error == .notPermitted)
      #expect(try await alice.read(".notes", in: key) == (.done, "hidden"))
      #expect(try await alice.remove("notes", in: key) == .done)
      #expect(try await bob.read("notes", in: key).error == .notFound)
    }
  }

  @Test func answersTheFirstErrorThatApplies() async throws {
    try await withServer("files = 3\ndirectory_size = \"4KiB\"\nreserved_keys = 4") { server in
      let alice = try await TestDevice.established(TestUser("alice"), on: server)
      let bob = try await TestDevice.established(TestUser("bob"), on: server)
      let key = alice.user.key
      let nowhere = TestUser().key
      for name in ["", ".", "..", "a/b", "a\0b"] {
        #expect(try await bob.read(name, in: nowhere).error == .badFilename, "\(name)")
      }
      #expect(
        try await bob.read("x", in: nowhere) == (.notFound, "\(ErrorCode.notFound)"))
      #expect(try await bob.write("x", to: "x", in: key) == .notPermitted)
      #expect(try await bob.remove("none", in: key) == .notPermitted)
      #expect(try await bob.lock("none", in: key).error == .notPermitted)
      #expect(try await bob.read("none", in: key).error == .notFound)
      #expect(try await alice.remove("none", in: key) == .notFound)
      // Data that doesn't open, of which none is a case.
      let write = PDU.write(PDU.Write(directory: key, filename: try #require(ShortBytes("x"))))
      #expect(try await alice.file(write).error == .dataDoesNotOpen)
      let second = try await TestDevice.established(alice.user, on: server)
      #expect(try await second.lock("x", in: key) == (.done, ""))
      #expect(try await alice.file(write).error == .locked)
      #expect(try await alice.remove("x", in: key) == .locked)
      #expect(try await alice.lock("x", in: key).error == .locked)
      #expect(try await alice.read("x", in: key).error == .notFound)
      // Quotas.
      #expect(
        try await alice.write(String(repeating: "x", count: 4097), to: "y", in: key) == .overQuota)
      for name in ["1", "2", "3"] {
        #expect(try await alice.write("", to: name, in: key) == .done)
      }
      #expect(try await alice.write("", to: "4", in: key) == .overQuota)
      #expect(try await alice.write("again", to: "3", in: key) == .done)
      #expect(try await alice.remove("3", in: key) == .done)
      // Reserved files.
      for name in ["editors", "moderators", "subscribers"] {
        #expect(try await alice.write(bytes: [1], to: name, in: key) == .badContent)
        #expect(
          try await alice.write(bytes: [UInt8](repeating: 1, count: 161), to: name, in: key)
            == .overQuota)
      }
    }
  }

  @Test func keepsAuthorAndSecret() async throws {
    try await withServer { server in
      let alice = try await TestDevice.established(TestUser("alice"), on: server)
      let forum = TestUser("forum")
      try alice.send(try forum.new())
      let key = alice.user.key
      for directory in [key, forum.key] {
        #expect(
          try await alice.write(bytes: key.bytes, to: "author", in: directory) == .notPermitted)
        for name in ["author", "secret"] {
          #expect(try await alice.lock(name, in: directory).error == .notPermitted)
          #expect(try await alice.remove(name, in: directory) == .notPermitted)
        }
        #expect(try await alice.read("secret", in: directory).error == .notPermitted)
      }
      #expect(try await alice.write("", to: "secret", in: key) == .notPermitted)
      try alice.send(
        .read(PDU.Read(directory: forum.key, filename: try #require(ShortBytes("author")))))
      let box = try #require(
        BoxKey(own: alice.user.encryption, peer: server.identity.encryptionKey))
      let data = try await alice.nextPDU().data
      #expect(box.open(data, nonce: server.identity.dataNonce) == key.bytes)
      // The secret must be the forum's.
      let sealed = try #require(
        forum.encryption.withSecret { SealedBox.seal($0, to: server.identity.encryptionKey) })
      let other = try #require(
        TestUser().encryption.withSecret {
          SealedBox.seal($0, to: server.identity.encryptionKey)
        })
      for bad in [other, Array(sealed.dropLast()), sealed + [0], [1]] {
        #expect(try await alice.write(bytes: bad, to: "secret", in: forum.key) == .badContent)
      }
      #expect(try await alice.write(bytes: sealed, to: "secret", in: forum.key) == .done)
      #expect(try await alice.write(bytes: [], to: "secret", in: forum.key) == .done)
    }
  }

  @Test func locksUntilTheWriteOrTheEnd() async throws {
    try await withServer("locks = 2") { server in
      let user = TestUser()
      let first = try await TestDevice.established(user, on: server)
      let second = try await TestDevice.established(user, on: server)
      #expect(try await first.write("old", to: "f", in: user.key) == .done)
      #expect(try await first.lock("f", in: user.key) == (.done, "old"))
      #expect(try await first.lock("f", in: user.key) == (.done, "old"))
      #expect(try await second.write("x", to: "f", in: user.key) == .locked)
      #expect(try await first.write("new", to: "f", in: user.key) == .done)
      #expect(try await second.lock("f", in: user.key) == (.done, "new"))
      #expect(try await second.lock("g", in: user.key) == (.done, ""))
      #expect(try await second.lock("h", in: user.key).error == .overQuota)
      #expect(try await first.remove("f", in: user.key) == .locked)
      try second.socket.sendClose(1000)
      _ = try await second.next()
      // Its session ends behind its connection.
      try await waitUntil { try await first.remove("f", in: user.key) == .done }
    }
  }

  @Test func letsEditorsWrite() async throws {
    try await withServer { server in
      let alice = try await TestDevice.established(TestUser("alice"), on: server)
      let bob = try await TestDevice.established(TestUser("bob"), on: server)
      let key = alice.user.key
      #expect(try await alice.write(bytes: bob.user.key.bytes, to: "editors", in: key) == .done)
      #expect(try await bob.write("by bob", to: ".f", in: key) == .done)
      #expect(try await bob.read(".f", in: key) == (.done, "by bob"))
      #expect(try await alice.remove("editors", in: key) == .done)
      #expect(try await bob.write("by bob", to: ".f", in: key) == .notPermitted)
    }
  }

  @Test func answersInOrder() async throws {
    try await withServer { server in
      let user = TestUser()
      let device = try await TestDevice.established(user, on: server)
      let box = try #require(BoxKey(own: user.encryption, peer: server.identity.encryptionKey))
      for number in 0..<50 {
        let name = try #require(ShortBytes("f"))
        try device.send(
          .write(PDU.Write(directory: user.key, filename: name)),
          data: box.seal([UInt8(number)], nonce: server.identity.dataNonce))
        try device.send(.read(PDU.Read(directory: user.key, filename: name)))
      }
      for number in 0..<50 {
        guard case .write(let write) = try await device.nextPDU().pdu else { throw Wrong() }
        #expect(write.error == .done)
        let (pdu, data) = try await device.nextPDU()
        guard case .read = pdu else { throw Wrong() }
        #expect(box.open(data, nonce: server.identity.dataNonce) == [UInt8(number)])
      }
    }
  }

  private struct Wrong: Error {}
}
