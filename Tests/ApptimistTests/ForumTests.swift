internal import ApptimistProtocol
internal import Cryptography
internal import TestSupport
internal import Testing

@testable import Apptimist

@Suite("Forums over sockets") struct ForumTests {
  /// A forum with its author, a reader and somebody else.
  private struct Scene {
    let author: TestDevice
    let reader: TestDevice
    let other: TestDevice
    let forum = TestUser("forum")

    init(_ server: TestServer) async throws {
      author = try await TestDevice.established(TestUser("author"), on: server)
      reader = try await TestDevice.established(TestUser("reader"), on: server)
      other = try await TestDevice.established(TestUser("other"), on: server)
      try author.send(try forum.new())
      #expect(
        try await author.write(bytes: reader.user.key.bytes, to: "subscribers", in: forum.key)
          == .done)
    }

    /// Gives the forum's secret to the service.
    func escrow(_ server: TestServer) async throws {
      let sealed = try #require(
        forum.encryption.withSecret { SealedBox.seal($0, to: server.identity.encryptionKey) })
      #expect(try await author.write(bytes: sealed, to: "secret", in: forum.key) == .done)
    }
  }

  @Test func passesOnBlindly() async throws {
    try await withServer { server in
      let scene = try await Scene(server)
      try scene.other.send("not permitted", to: scene.forum.key)
      try await scene.other.settle()
      try scene.author.send("news", to: scene.forum.key, time: 77)
      let (pdu, data) = try await scene.reader.nextPDU()
      #expect(
        pdu
          == .message(
            PDU.Message(
              time: 77, recipient: scene.reader.user.key, to: scene.forum.key,
              from: scene.author.user.key)))
      // Readers share the forum's secret among themselves.
      let box = try #require(BoxKey(own: scene.forum.encryption, peer: scene.author.user.key))
      #expect(box.open(data, nonce: server.identity.dataNonce) == Array("news".utf8))
      try scene.reader.send("from a subscriber", to: scene.forum.key)
      try await scene.reader.settle()
      // Not to the session that posted, but to the others of its user.
      let second = try TestDevice(scene.reader.user, to: server)
      try second.send(scene.reader.user.login())
      _ = try await second.nextPDU()
      guard case .message(let message) = try await second.nextPDU().pdu else { return }
      #expect(message.from == scene.reader.user.key)
    }
  }

  @Test func changesBetweenPosts() async throws {
    try await withServer { server in
      let scene = try await Scene(server)
      try await scene.escrow(server)
      var (reader, next) = (scene.reader, scene.other)
      for round in 0..<20 {
        try scene.author.send("before \(round)", to: scene.forum.key)
        #expect(
          try await scene.author.write(
            bytes: next.user.key.bytes, to: "subscribers", in: scene.forum.key) == .done)
        try scene.author.send("after \(round)", to: scene.forum.key)
        #expect(try await reader.nextText() == "before \(round)")
        #expect(try await next.nextText() == "after \(round)")
        (reader, next) = (next, reader)
      }
    }
  }

  @Test func sealsForEachReader() async throws {
    try await withServer { server in
      let scene = try await Scene(server)
      try await scene.escrow(server)
      try scene.author.send("news", to: scene.forum.key)
      #expect(try await scene.reader.nextText() == "news")
      // Data that doesn't open.
      let message = PDU.Message(
        time: 0, recipient: scene.forum.key, to: scene.forum.key, from: scene.author.user.key)
      try scene.author.send(.message(message), data: [UInt8](repeating: 1, count: 20))
      try await scene.author.settle()
      try await scene.reader.settle()
    }
  }

  @Test func routesThroughModerators() async throws {
    try await withServer { server in
      let scene = try await Scene(server)
      try await scene.escrow(server)
      let moderator = try await TestDevice.established(TestUser("moderator"), on: server)
      #expect(
        try await scene.author.write(
          bytes: moderator.user.key.bytes + moderator.user.key.bytes + TestUser().key.bytes
            + scene.forum.key.bytes,
          to: "moderators", in: scene.forum.key) == .done)
      try scene.other.send("may I?", to: scene.forum.key)
      #expect(try await moderator.nextText() == "may I?")
      try moderator.send("yes", to: scene.forum.key)
      #expect(try await scene.reader.nextText() == "yes")
      try await moderator.settle()
      try await scene.reader.settle()
    }
  }

  @Test func ignoresWhatNamesAForumOnce() async throws {
    try await withServer { server in
      let scene = try await Scene(server)
      let (user, forum) = (scene.reader.user.key, scene.forum.key)
      for (recipient, to) in [(forum, user), (user, forum)] {
        let message = PDU.Message(
          time: 0, recipient: recipient, to: to, from: scene.author.user.key)
        try scene.author.send(.message(message))
      }
      try await scene.author.settle()
      try await scene.reader.settle()
    }
  }

  @Test func deletesForums() async throws {
    try await withServer { server in
      let scene = try await Scene(server)
      let del = PDU.del(PDU.Del(key: scene.forum.key))
      try scene.other.send(del)
      try await scene.other.settle()
      #expect(try await scene.author.lock("f", in: scene.forum.key).error == .done)
      try scene.author.send(.del(PDU.Del(key: scene.author.user.key)))
      try scene.author.send(del)
      #expect(try await scene.author.read("f", in: scene.forum.key).error == .notFound)
      try scene.author.send("into the void", to: scene.forum.key)
      // The key stays taken.
      try scene.author.send(try scene.forum.new())
      #expect(try await scene.author.read("author", in: scene.forum.key).error == .notFound)
      let device = try TestDevice(scene.forum, to: server)
      try device.send(try scene.forum.new())
      #expect(try await device.next() == .closed(1008))
      try await scene.author.settle()
    }
  }

  @Test func findsUsersAndForums() async throws {
    try await withServer { server in
      let scene = try await Scene(server)
      try scene.other.send(
        .searchByName(PDU.SearchByName(maxUsers: 0, text: try #require(ShortBytes("*O*R")))))
      var found: [(String?, UInt16)] = []
      for _ in 0..<2 {
        guard case .user(let user) = try await scene.other.nextPDU().pdu else { return }
        found.append((user.name.text, user.count))
      }
      #expect(found.map(\.0) == ["author", "other"] && found.map(\.1) == [1, 0])
      try scene.other.send(.searchByKey(PDU.SearchByKey(key: scene.forum.key)))
      guard case .user(let user) = try await scene.other.nextPDU().pdu else { return }
      #expect(user.key == scene.forum.key && user.name.text == "forum" && user.count == 0)
    }
  }

  @Test func vouches() async throws {
    try await withServer { server in
      let scene = try await Scene(server)
      let (author, reader) = (scene.author.user, scene.reader.user)
      func vouchers() async throws -> [EncryptionPublicKey] {
        try scene.other.send(.vouchers(PDU.Vouchers(subject: author.key, vouchers: [])))
        guard case .vouchers(let answer) = try await scene.other.nextPDU().pdu else { return [] }
        #expect(answer.subject == author.key)
        return answer.vouchers
      }
      func vouch(_ signature: Signature) async throws {
        try scene.reader.send(.vouch(PDU.Vouch(subject: author.key, signature: signature)))
        try await scene.reader.settle()
      }
      #expect(try await vouchers().isEmpty)
      try await vouch(author.authentication.sign(author.key))
      #expect(try await vouchers().isEmpty)
      try await vouch(reader.authentication.sign(author.key))
      #expect(try await vouchers() == [reader.key])
      try scene.author.send(
        .vouch(
          PDU.Vouch(subject: author.key, signature: author.authentication.sign(author.key))))
      try await scene.author.settle()
      #expect(try await vouchers() == [reader.key])
      try await vouch(Signature())
      #expect(try await vouchers().isEmpty)
    }
  }
}
