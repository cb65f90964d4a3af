internal import ApptimistProtocol
internal import Cryptography
internal import TestSupport
internal import Testing

@testable import Apptimist

@Suite("Messages over sockets") struct MessageTests {
  @Test func goesBothWays() async throws {
    try await withServer { server in
      let alice = try await TestDevice.established(TestUser("alice"), on: server)
      let bob = try await TestDevice.established(TestUser("bob"), on: server)
      try alice.send("hello", to: bob.user.key)
      #expect(try await bob.nextText() == "hello")
      try bob.send("hello yourself", to: alice.user.key)
      #expect(try await alice.nextText() == "hello yourself")
    }
  }

  @Test func keepsHeaderAndDataByteForByte() async throws {
    try await withServer { server in
      let alice = try await TestDevice.established(TestUser(), on: server)
      let bob = try await TestDevice.established(TestUser(), on: server)
      let message = PDU.message(
        PDU.Message(
          time: .max, recipient: bob.user.key, to: alice.user.key, from: alice.user.key))
      for data in [[], [7], [UInt8](repeating: 9, count: 1 << 20 + 16)] as [[UInt8]] {
        try alice.send(message, data: data)
        let (pdu, received) = try await bob.nextPDU()
        #expect(pdu == message && received == data)
      }
    }
  }

  @Test func sendsTheBacklogThenWhatComesIn() async throws {
    try await withServer { server in
      let bob = TestUser("bob")
      try await TestDevice.established(bob, on: server).socket.cut()
      let alice = try await TestDevice.established(TestUser("alice"), on: server)
      var ids: [MessageID] = []
      for number in 0..<300 { ids.append(try alice.send("\(number)", to: bob.key)) }
      try await alice.settle()
      let device = try TestDevice(bob, to: server)
      try device.send(bob.login())
      for number in 0..<300 { #expect(try await device.nextText() == "\(number)") }
      try alice.send("new", to: bob.key)
      #expect(try await device.nextText() == "new")

      let later = try TestDevice(bob, to: server)
      try later.send(bob.login(head: ids[297]))
      for text in ["298", "299", "new"] { #expect(try await later.nextText() == text) }
      let newest = try TestDevice(bob, to: server)
      try newest.send(bob.login(max: 2, head: ids[3]))
      for text in ["299", "new"] { #expect(try await newest.nextText() == text) }
      let all = try TestDevice(bob, to: server)
      try all.send(bob.login(head: try MessageID.random()))
      #expect(try await all.nextText() == "0")
    }
  }

  @Test func queuesAllThatCameBeforeTheEnd() async throws {
    try await withServer { server in
      let bob = try await TestDevice.established(TestUser("bob"), on: server)
      let alice = try await TestDevice.established(TestUser("alice"), on: server)
      let second = try TestDevice(alice.user, to: server)
      try second.send(alice.user.login())
      try await second.settle()
      // They come faster than they are queued, and the device doesn't wait.
      var own: [MessageID] = []
      for number in 0..<500 {
        try alice.send("\(number)", to: bob.user.key)
        if number % 100 == 0 {
          own.append(try alice.send("\(number)", to: alice.user.key))
          try alice.send(.truncate(PDU.Truncate(message: own[own.count - 1])))
        }
      }
      try alice.socket.sendClose(1000)
      for number in 0..<500 { #expect(try await bob.nextText() == "\(number)") }
      for (index, id) in own.enumerated() {
        #expect(try await second.nextText() == "\(index * 100)")
        #expect(try await second.nextPDU().pdu == .truncate(PDU.Truncate(message: id)))
      }
    }
  }

  @Test func reachesEverySessionButTheSenders() async throws {
    try await withServer { server in
      let user = TestUser()
      let first = try await TestDevice.established(user, on: server)
      let second = try await TestDevice.established(user, on: server)
      try first.send("from the first", to: user.key)
      #expect(try await second.nextText() == "from the first")
      try second.send("from the second", to: user.key)
      #expect(try await first.nextText() == "from the second")
      try await first.settle()
      try await second.settle()
      let third = try TestDevice(user, to: server)
      try third.send(user.login())
      #expect(try await third.nextText() == "from the first")
      #expect(try await third.nextText() == "from the second")
    }
  }

  @Test func queuesAMessageOnce() async throws {
    try await withServer { server in
      let alice = try await TestDevice.established(TestUser(), on: server)
      let bob = try await TestDevice.established(TestUser(), on: server)
      for _ in 0..<3 { try alice.send("once", to: bob.user.key) }
      try alice.send("twice", to: bob.user.key)
      #expect(try await bob.nextText() == "once")
      #expect(try await bob.nextText() == "twice")
    }
  }

  @Test func ignoresWhatIsNotTheSendersOrForNobody() async throws {
    try await withServer { server in
      let alice = try await TestDevice.established(TestUser(), on: server)
      let bob = try await TestDevice.established(TestUser(), on: server)
      let forged = PDU.Message(
        time: 0, recipient: bob.user.key, to: bob.user.key, from: bob.user.key)
      try alice.send(.message(forged), data: [1])
      try alice.send("to nobody", to: TestUser().key)
      try await alice.settle()
      try alice.send("real", to: bob.user.key)
      #expect(try await bob.nextText() == "real")
    }
  }

  @Test func pausesAndResumes() async throws {
    try await withServer { server in
      let alice = try await TestDevice.established(TestUser(), on: server)
      let bob = try await TestDevice.established(TestUser(), on: server)
      try bob.send(.pause(PDU.Pause()))
      try await bob.settle()
      for number in 0..<5 { try alice.send("\(number)", to: bob.user.key) }
      try await alice.settle()
      try await bob.settle()
      try bob.send(.resume(PDU.Resume()))
      for number in 0..<5 { #expect(try await bob.nextText() == "\(number)") }
    }
  }

  @Test func truncatesForAllAndForLaterLogins() async throws {
    try await withServer { server in
      let alice = try await TestDevice.established(TestUser(), on: server)
      let user = TestUser("bob")
      let first = try await TestDevice.established(user, on: server)
      let second = try await TestDevice.established(user, on: server)
      let id = try alice.send("secret", to: user.key)
      let kept = try alice.send("kept", to: user.key)
      for device in [first, second] {
        #expect(try await device.nextText() == "secret")
        #expect(try await device.nextText() == "kept")
      }
      let truncate = PDU.truncate(PDU.Truncate(message: id))
      // The echo is an answer: it comes while the stream is paused.
      try first.send(.pause(PDU.Pause()))
      try first.send(truncate)
      #expect(try await first.nextPDU().pdu == truncate)
      #expect(try await second.nextPDU().pdu == truncate)
      try first.send(truncate)
      #expect(try await first.nextPDU().pdu == truncate)
      try first.send(.truncate(PDU.Truncate(message: try MessageID.random())))
      try first.send(.resume(PDU.Resume()))
      try await first.settle()
      try await second.settle()

      let third = try TestDevice(user, to: server)
      try third.send(user.login())
      #expect(try await third.nextText() == "kept")
      #expect(try await third.nextPDU().pdu == truncate)
      let fourth = try TestDevice(user, to: server)
      try fourth.send(user.login(head: id))
      #expect(try await fourth.nextText() == "kept")
      #expect(try await fourth.nextPDU().pdu == truncate)
      let fifth = try TestDevice(user, to: server)
      try fifth.send(user.login(head: kept))
      #expect(try await fifth.nextPDU().pdu == truncate)
      try await fifth.settle()
    }
  }

  @Test func costsLittleForAReaderThatDoesNotRead() async throws {
    try await withServer { server in
      let bob = TestUser("bob")
      let reader = try await TestDevice.established(bob, on: server)
      let alice = try await TestDevice.established(TestUser("alice"), on: server)
      let text = String(repeating: "x", count: 50_000)
      for number in 0..<200 { try alice.send("\(number) \(text)", to: bob.key) }
      try await alice.settle()
      for number in 0..<200 { #expect(try await reader.nextText() == "\(number) \(text)") }
    }
  }
}

extension MessageID {
  static func random() throws -> MessageID { try #require(MessageID(SecureRandom.bytes(64))) }
}
