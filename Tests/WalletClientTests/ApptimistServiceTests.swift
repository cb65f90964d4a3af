internal import ApptimistProtocol
internal import Cryptography
internal import Formats
internal import HTTPClient
internal import TestSupport
internal import Testing
internal import Platform
internal import WalletClient

/// The device against the service itself, over sockets and a database of its own.
@Suite struct ApptimistServiceTests {
  @Test func twoTalk() async throws {
    try await withApptimist { service in
      let ann = try service.device("Ann")
      let bob = try service.device("Bob")
      #expect(try await bob.device.search(name: "bob").map(\.key) == [bob.device.user])
      #expect(try await ann.device.search(name: "*", limit: 1).count == 1)
      let found = try await ann.device.user(bob.device.user)
      #expect(found?.name == "Bob")
      #expect(try await ann.device.search(name: "nobody").isEmpty)
      let sent = try await ann.send("hello Bob", to: bob.device.user)
      let (message, text) = try await bob.next()
      #expect(text == "hello Bob" && message.id == sent.id)
      #expect(message.from == ann.device.user && message.to == bob.device.user)
      _ = try await bob.send("hello Ann", to: ann.device.user)
      #expect(try await ann.next().1 == "hello Ann")
      await #expect(throws: DeviceError.unknownUser) {
        _ = try await ann.send("?", to: DeviceKeys.generate().user)
      }
    }
  }

  @Test func theHeadIsWhereTheStreamGoesOn() async throws {
    try await withApptimist { service in
      let ann = try service.device("Ann")
      let bob = try service.device("Bob")
      let user = bob.device.user
      // Messages can be sent to it once the account exists.
      _ = try await bob.device.user(user)
      for number in 0..<3 { _ = try await ann.send("\(number)", to: user) }
      #expect(try await bob.next().1 == "0")
      let (head, _) = try await bob.next()
      await bob.stop()
      let again = try service.device(nil, bob.keys, cursor: head.cursor)
      #expect(try await again.next().1 == "2")
      // Another of Bob's devices, without a head, gets everything; a truncation tells the first.
      var options = ApptimistDeviceTests.quick
      let other = try service.device(nil, bob.keys, options: options)
      for number in 0..<3 { #expect(try await other.next().1 == "\(number)") }
      try await other.device.truncate(head.id)
      guard case .truncation(head.id, _)? = await again.nextEntry() else {
        Issue.record("no truncation")
        return
      }
      await #expect(throws: DeviceError.unknownMessage) {
        try await other.device.truncate(MessageID(header: [], data: []))
      }
      options.history = 1
      #expect(try await service.device(nil, bob.keys, options: options).next().1 == "2")
    }
  }

  @Test func aMessageSentTwiceIsQueuedOnce() async throws {
    try await withApptimist { service in
      let ann = try service.device("Ann")
      let bob = try service.device("Bob")
      _ = try await bob.device.user(bob.device.user)
      let message = try await ann.device.seal([1], to: bob.device.user, time: 5)
      for _ in 0..<3 { try await ann.device.send(message) }
      _ = try await ann.send("last", to: bob.device.user)
      #expect(try await bob.next().0.time == 5)
      #expect(try await bob.next().1 == "last")
    }
  }

  /// Two devices change whom the user allows while neither knows of the other, one of them its clock being late.
  @Test func whatDevicesChangeApartComesTogether() async throws {
    try await withApptimist { service in
      let first = try service.device("Ann")
      try await first.settle()
      let second = try service.device(nil, first.keys)
      let keys = (0..<4).map { _ in DeviceKeys.generate().user }
      var base = PrivateFile()
      base.change("people", keys[0], ["state": .text("allowed"), "later": .list([.null])], at: 10)
      base.change("people", keys[1], ["state": .text("allowed")], at: 10)
      base = try await first.device.write(base)
      #expect(try await second.device.privateFile() == base)

      var (one, other) = (base, base)
      one.change("people", keys[0], ["state": .text("blocked")], at: 30)
      one.change("people", keys[2], ["state": .text("allowed")], at: 5)
      one.change("people", keys[1], ["name": .text("bob")], at: 20)
      other.change(
        "people", keys[0], ["state": .text("allowed"), "verified": .truth(true)], at: 20)
      other.change("people", keys[1], ["state": .text("blocked")], at: 20)
      other.change("forums", keys[3], ["state": .text("joined")], at: 1)
      one = try await first.device.write(one)
      other = try await second.device.write(other)
      // Both have all of it: of each entry the later change, of two at once the one with the greater text.
      #expect(try await first.device.privateFile() == other)
      #expect(one.merged(with: other) == other && other.merged(with: one) == other)
      #expect(other.entry("people", keys[0])["state"] == .text("blocked"))
      #expect(other.entry("people", keys[0])["later"] == .list([.null]))
      #expect(other.entry("people", keys[0])["verified"] == nil)
      #expect(other.entry("people", keys[1])["state"] == .text("blocked"))
      #expect(other.entry("people", keys[1])["name"] == nil)
      #expect(other.state(of: keys[2]) == "allowed" && other.state(of: keys[3]) == "joined")
      // An old state takes nothing back.
      #expect(try await first.device.write(base) == other)
    }
  }

  @Test func pauseAndResume() async throws {
    try await withApptimist { service in
      let ann = try service.device("Ann")
      let bob = try service.device("Bob")
      await bob.device.setStreamPaused(true)
      _ = try await bob.device.user(ann.device.user)
      _ = try await ann.send("1", to: bob.device.user)
      // The reply comes behind the message, and no message before it.
      let next = Task { try await bob.next().1 }
      _ = try await bob.device.user(ann.device.user)
      await bob.device.setStreamPaused(false)
      #expect(try await next.value == "1")
    }
  }

  @Test func vouchers() async throws {
    try await withApptimist { service in
      let ann = try service.device("Ann")
      let bob = try service.device("Bob")
      _ = try await bob.device.user(bob.device.user)
      try await ann.device.vouch(for: bob.device.user)
      #expect(try await bob.device.vouchers(of: bob.device.user).map(\.user) == [ann.device.user])
      try await ann.device.revokeVouch(for: bob.device.user)
      #expect(try await bob.device.vouchers(of: bob.device.user).map(\.user) == [])
      await #expect(throws: DeviceError.unknownUser) {
        try await ann.device.vouch(for: DeviceKeys.generate().user)
      }
      await #expect(throws: DeviceError.unsendable) {
        try await ann.device.vouch(for: ann.device.user)
      }
    }
  }

  @Test func files() async throws {
    try await withApptimist { service in
      let ann = try service.device("Ann")
      let bob = try service.device("Bob")
      let name = try #require(Filename("about me"))
      let large = (0..<1 << 20).map { UInt8(truncatingIfNeeded: $0) }
      try await ann.device.write(large, to: name)
      #expect(try await bob.device.read(name, of: ann.device.user) == large)
      #expect(try await ann.device.read(Filename(.author)) == ann.device.user.bytes)
      func code(_ body: () async throws -> Void) async -> ErrorCode? {
        do { try await body() } catch DeviceError.file(let code, let words) {
          #expect(!words.isEmpty)
          return code
        } catch { Issue.record("\(error)") }
        return nil
      }
      #expect(
        await code { try await bob.device.write([1], to: name, of: ann.device.user) }
          == .notPermitted)
      let none = try #require(Filename("none"))
      #expect(await code { _ = try await ann.device.read(none) } == .notFound)
      // Another device of the same user comes too late for the lock.
      let second = try service.device(nil, ann.keys)
      #expect(try await ann.device.lock(none) == [])
      #expect(await code { _ = try await second.device.lock(none) } == .locked)
      try await ann.device.write([], to: none)
      #expect(try await second.device.lock(none) == [])
      try await second.device.remove(none)
      #expect(await code { try await ann.device.remove(none) } == .notFound)
      await #expect(throws: DeviceError.unsendable) {
        try await ann.device.write(large + [0], to: name)
      }
    }
  }

  @Test(arguments: [true, false])
  func forums(_ isEscrowed: Bool) async throws {
    try await withApptimist { service in
      let ann = try service.device("Ann")
      let bob = try service.device("Bob")
      let eve = try service.device("Eve")
      _ = try await bob.device.user(bob.device.user)
      let forum = DeviceKeys.generate()
      let name = try #require(AccountName("Chess club"))
      try await ann.device.makeForum(name, keys: forum)
      try await ann.device.makeForum(name, keys: forum)
      await #expect(throws: DeviceError.forumRefused) {
        try await bob.device.makeForum(name, keys: forum)
      }
      #expect(try await bob.device.search(name: "chess").map(\.key) == [forum.user])
      #expect(try await ann.device.members(.subscribers, of: forum.user) == [])
      try await ann.device.setMembers(
        .subscribers, of: forum.user, to: [bob.device.user, ann.device.user])
      #expect(
        try await bob.device.members(.subscribers, of: forum.user)
          == [bob.device.user, ann.device.user])
      if isEscrowed { try await ann.device.escrow(forum.encryption) }
      _ = try await ann.send("who plays?", to: forum.user)
      let secret = isEscrowed ? nil : forum.encryption
      let (message, text) = try await bob.next(forum: secret)
      #expect(text == "who plays?" && message.to == forum.user && message.from == ann.device.user)
      // Without moderators only subscribers can post; with one, the moderator gets it.
      try await ann.device.setMembers(.moderators, of: forum.user, to: [ann.device.user])
      _ = try await eve.send("I do", to: forum.user)
      #expect(try await ann.next(forum: secret).1 == "I do")
      if isEscrowed { try await ann.device.endEscrow(of: forum.user) }
      await #expect(throws: DeviceError.forumRefused) {
        try await eve.device.deleteForum(forum.user)
      }
      try await ann.device.deleteForum(forum.user)
      #expect(try await bob.device.search(name: "chess").isEmpty)
    }
  }

  @Test func whoProvesNothingJoinsNoForum() async throws {
    try await withApptimist { service in
      let ann = try service.device("Ann")
      let bob = try service.device("Bob")
      let forum = DeviceKeys.generate()
      await #expect(throws: DeviceError.service(.notFound)) {
        try await bob.device.join(forum.user)
      }
      try await ann.device.makeForum(try #require(AccountName("Chess")), keys: forum)
      await #expect(throws: DeviceError.service(.notPermitted)) {
        try await bob.device.join(forum.user)
      }
    }
  }

  @Test func anAccountIsDeleted() async throws {
    try await withApptimist { service in
      let ann = try service.device("Ann")
      let bob = try service.device("Bob")
      _ = try await bob.device.user(bob.device.user)
      _ = try await ann.send("before", to: bob.device.user)
      try await ann.device.leave()
      #expect(try await bob.device.search(name: "Ann").isEmpty)
      #expect(try await bob.next().1 == "before")
      await #expect(throws: DeviceError.unknownUser) {
        _ = try await bob.send("where are you?", to: ann.device.user)
      }
      // Its devices are refused from now on.
      await #expect(throws: DeviceError.self) {
        _ = try await ann.device.user(bob.device.user)
      }
    }
  }

  /// Devices find a service again that went away, and requests made meanwhile are done.
  @Test func theServiceRestarts() async throws {
    let folder = TemporaryFolder()
    let port = Lock<UInt16>(0)
    let devices = Lock<[RunningDevice]>([])
    try await withApptimist(folder) { service in
      port.withLock { $0 = service.url.port }
      let ann = try service.device("Ann")
      let bob = try service.device("Bob")
      _ = try await bob.device.user(bob.device.user)
      _ = try await ann.send("before", to: bob.device.user)
      #expect(try await bob.next().1 == "before")
      devices.withLock { $0 = [ann, bob] }
    }
    let (ann, bob) = devices.withLock { ($0[0], $0[1]) }
    let sending = Task { try await ann.send("meanwhile", to: bob.device.user) }
    try await withApptimist(folder, port: port.withLock { $0 }) { service in
      _ = try await sending.value
      #expect(try await bob.next().1 == "meanwhile")
      await ann.stop()
      await bob.stop()
    }
  }

  @Test func anAccountThatIsNotThere() async throws {
    try await withApptimist { service in
      let device = try Device(
        keys: .generate(), service: service.pin, url: service.url,
        options: ApptimistDeviceTests.quick)
      await #expect(throws: DeviceError.accountRefused(.notFound)) { try await device.run() }
      var elsewhere = try #require(WebSocketURL("ws://127.0.0.1:\(service.url.port)/none"))
      elsewhere.query = nil
      let lost = try Device(
        keys: .generate(), service: service.pin, url: elsewhere,
        options: ApptimistDeviceTests.quick)
      await #expect(throws: DeviceError.refused) { try await lost.run() }
      await #expect(throws: ServicePinError.notThere(404)) {
        _ = try await ServicePin.fetch(from: elsewhere, client: try WebClient())
      }
    }
  }
}
