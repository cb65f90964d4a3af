internal import ApptimistProtocol
internal import Cluster
internal import Cryptography
internal import Storage
internal import TestSupport
internal import Testing

@testable import Apptimist

/// Nodes that share a PostgreSQL database.
@Suite(.withOtherPrograms, .ownThreads) struct NodeTests {
  @Test(arguments: [false, true])
  func whatOneNodeDoesAllShow(polls: Bool) async throws {
    try await withNodes(2, polls: polls) { nodes in
      let (alice, bob) = (TestUser("alice"), TestUser("bob"))
      // Registered on one node, logged in on the other.
      try await TestDevice.established(alice, on: nodes[0]).socket.cut()
      let sender = try TestDevice(alice, to: nodes[1])
      try sender.send(alice.login())
      let here = try await TestDevice.established(bob, on: nodes[0])
      let there = try await TestDevice.established(bob, on: nodes[1])
      for number in 0..<20 {
        let id = try sender.send("text \(number)", to: bob.key, time: UInt64(number))
        #expect(try await here.nextText() == "text \(number)")
        #expect(try await there.nextText() == "text \(number)")
        guard number % 5 == 0 else { continue }
        try here.send(.truncate(PDU.Truncate(message: id)))
        for device in [here, there] {
          guard case .truncate(let truncate) = try await device.nextPDU().pdu else {
            throw TestDevice.Failure(message: "no truncation")
          }
          #expect(truncate.message == id)
        }
      }
    }
  }

  @Test func aLockHoldsOnAllNodes() async throws {
    try await withNodes(2, "lock_lease = \"500ms\"\nlocks = 2") { nodes in
      let alice = TestUser("alice")
      let here = try await TestDevice.established(alice, on: nodes[0])
      let there = try await TestDevice.established(alice, on: nodes[1])
      let key = alice.key
      #expect(try await here.lock("notes", in: key) == (.done, ""))
      #expect(try await there.lock("notes", in: key).error == .locked)
      #expect(try await there.write("mine", to: "notes", in: key) == .locked)
      #expect(try await there.remove("notes", in: key) == .locked)
      #expect(try await there.read("notes", in: key).error == .notFound)
      #expect(try await here.lock("notes", in: key) == (.done, ""))
      #expect(try await here.lock("2", in: key).error == .done)
      #expect(try await here.lock("3", in: key).error == .overQuota)
      // What is written ends the lock.
      #expect(try await here.write("written", to: "notes", in: key) == .done)
      #expect(try await there.lock("notes", in: key) == (.done, "written"))
      #expect(try await here.write("again", to: "notes", in: key) == .locked)
      // A session's end does, soon.
      there.socket.cut()
      try await waitUntil { try await here.write("after the end", to: "notes", in: key) == .done }
      // And so does the end of a lease.
      #expect(try await here.lock("notes", in: key).error == .done)
      let again = try await TestDevice.established(alice, on: nodes[1])
      #expect(try await again.lock("notes", in: key).error == .locked)
      try await waitUntil { try await again.lock("notes", in: key).error == .done }
    }
  }

  @Test func aForumIsTheSameOnAllNodes() async throws {
    try await withNodes(2) { nodes in
      let (alice, bob) = (TestUser("alice"), TestUser("bob"))
      let forum = TestUser("forum")
      let author = try await TestDevice.established(alice, on: nodes[0])
      let reader = try await TestDevice.established(bob, on: nodes[1])
      let editor = try await TestDevice.established(alice, on: nodes[1])
      try author.send(try forum.new())
      for number in 0..<10 {
        // The list is changed on one node, and a post comes to the other right then.
        let list = number % 2 == 0 ? bob.key.bytes : []
        #expect(
          try await (number % 3 == 0 ? author : editor).write(
            bytes: list, to: "subscribers", in: forum.key) == .done)
        try author.send("post \(number)", to: forum.key, time: UInt64(number))
        try await author.settle()
      }
      for number in [0, 2, 4, 6, 8] {
        guard case .message(let message) = try await reader.nextPDU().pdu else {
          throw TestDevice.Failure(message: "no message")
        }
        #expect(message.time == UInt64(number))
      }
      try await reader.settle()
    }
  }

  @Test(arguments: [false, true])
  func theOldestSessionGivesWayWhereverItIs(polls: Bool) async throws {
    try await withNodes(3, "sessions = 2", polls: polls) { nodes in
      let alice = TestUser("alice")
      var sessions: [TestDevice] = []
      for node in nodes {
        sessions.append(try await TestDevice.established(alice, on: node))
        // In this order in the store too.
        try await Task.sleep(for: .milliseconds(100))
      }
      guard case .closed(1008) = try await sessions[0].next() else {
        throw TestDevice.Failure(message: "not closed")
      }
      try await sessions[1].settle()
      try await sessions[2].settle()
    }
  }

  /// A command at any machine writes into the database only; each node looks at the accounts of its sessions.
  @Test func aDisabledUsersSessionsEndOnAllNodes() async throws {
    try await withNodes(2, polls: true) { nodes in
      let alice = TestUser("alice")
      let sessions = [
        try await TestDevice.established(alice, on: nodes[0]),
        try await TestDevice.established(alice, on: nodes[1]),
      ]
      let other = try await TestDevice.established(TestUser("bob"), on: nodes[1])
      let commands = ApptimistStore(store: nodes[0].store, limits: ApptimistStore.Limits())
      #expect(try await commands.setDisabled(true, alice.key, at: ApptimistStore.now))
      for session in sessions {
        guard case .closed(1008) = try await session.next() else {
          throw TestDevice.Failure(message: "not closed")
        }
      }
      try await other.settle()
    }
  }

  @Test func aNodeThatWasTakenForDeadIsBack() async throws {
    try await withNodes(2) { nodes in
      let alice = TestUser("alice")
      let session = try await TestDevice.established(alice, on: nodes[0])
      try await waitUntil { try await Self.sessions(nodes[1]) == 1 }
      try await nodes[1].store.write { try $0.execute("DELETE FROM store_nodes") }
      #expect(try await Self.sessions(nodes[1]) == 0)
      for node in nodes { try await node.sendHeartbeat() }
      try await waitUntil { try await Self.sessions(nodes[1]) == 1 }
      session.socket.cut()
      try await waitUntil { try await Self.sessions(nodes[1]) == 0 }
    }
  }

  /// A post, of this node's own or of another one's, reaches no session of version 1 of an account that another node has
  /// closed to it, though its notice hasn't come.
  @Test(arguments: [1, 3], [0, 1])
  func aClosedAccountsSessionGetsNoPost(readers: Int, of node: Int) async throws {
    try await withNodes(2) { nodes in
      let (alice, bob) = (TestUser("alice"), TestUser("bob"))
      let sender = try await TestDevice.established(alice, on: nodes[node])
      var sessions: [TestDevice] = []
      for _ in 0..<readers { sessions.append(try await TestDevice.established(bob, on: nodes[1])) }
      try sender.send("before", to: bob.key)
      for session in sessions { #expect(try await session.nextText() == "before") }
      let store = ApptimistStore(store: nodes[0].store, limits: ApptimistStore.Limits())
      #expect(try await store.prove(bob.key, bob.authentication.publicKey, closes: true))
      try sender.send("after", to: bob.key, time: 1)
      for session in sessions { #expect(try await session.next() == .closed(1008)) }
    }
  }

  @Test func messagesAreReadAtTheirPositions() async throws {
    try await withNodes(1) { nodes in
      let users = (TestUser("alice"), TestUser("bob"))
      let sender = try await TestDevice.established(users.0, on: nodes[0])
      let receiver = try await TestDevice.established(users.1, on: nodes[0])
      var ids: [MessageID] = []
      for number in 0..<4 {
        let text = String(repeating: "\(number)", count: 1000)
        ids.append(try sender.send(text, to: users.1.key, time: UInt64(number)))
        _ = try await receiver.nextText()
      }
      try receiver.send(.truncate(PDU.Truncate(message: ids[1])))
      var store = ApptimistStore(store: nodes[0].store, limits: ApptimistStore.Limits())
      var page = MailboxPage(entries: [], end: .zero, isLast: false)
      try await waitUntil {
        page = try await store.page(
          of: users.1.key, after: .zero, maxBytes: 1 << 20, maxEntries: 100)
        return page.entries.contains { $0.content == .truncation }
      }
      let messages = page.entries.filter { $0.content != .truncation }
      #expect(messages.count == 3)
      let places = [Int64](-1...9).map {
        (user: users.1.key, position: MailboxPosition(rawValue: max($0, 0)))
      }
      let strangers = [(user: TestUser("carol").key, position: MailboxPosition(rawValue: 1))]
      let read = try await store.messages(at: strangers + places)
      #expect(read.map(\.entry).sorted { $0.position < $1.position } == messages)
      #expect(read.allSatisfy { $0.user == users.1.key && !$0.isClosed })
      #expect(read.allSatisfy { $0.authenticationKey == users.1.authentication.publicKey })
      // As many as fit into a page.
      var limits = ApptimistStore.Limits()
      limits.pageBytes = 2500
      store = ApptimistStore(store: nodes[0].store, limits: limits)
      #expect(try await store.messages(at: places).map(\.entry) == Array(messages.prefix(2)))
    }
  }

  private static func sessions(_ node: TestServer) async throws -> Int {
    try await node.store.read { snapshot in
      try snapshot.one("SELECT count(*) FROM apptimist_sessions") { try $0[0] } ?? -1
    }
  }

  @Test func messagesOfNodesAreReadAsTheyWereWritten() {
    let session = NodeSession(node: .random(), session: SessionID(number: .max))
    for message in [SessionRegistry.Message.closedVersion1, .left, .evicted(session)] {
      #expect(SessionRegistry.Message(message.content) == message)
    }
    for content in [[], [0], [0, 0, 0, 0, 0, 0, 0, 0], [1, 1], [2, 1], [3, 1], [4]] as [[UInt8]] {
      #expect(SessionRegistry.Message(content) == nil)
    }
  }
}
