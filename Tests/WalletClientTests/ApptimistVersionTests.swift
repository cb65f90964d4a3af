internal import ApptimistProtocol
internal import Cryptography
internal import TestSupport
internal import Testing
internal import Platform
internal import HTTPClient

@testable import WalletClient

/// Devices of both versions against the service itself.
@Suite struct ApptimistVersionTests {
  @Test func eachReadsTheOther() async throws {
    try await withApptimist { service in
      let ann = try service.device("Ann", .generate(), .version1)
      let bob = try service.device("Bob")
      try await bob.settle()
      let boxed = try await ann.send("in a box", to: bob.user)
      #expect(boxed.protection == .version1)
      let (message, opened) = try await bob.nextOpened()
      #expect(opened == OpenedMessage(data: Array("in a box".utf8), protection: .version1))
      #expect(message.id == boxed.id && message.cursor.position == 1)
      let told = try await bob.send("told", to: ann.user, readsVersion1Only: true)
      #expect(told.protection == .version1)
      #expect(try await ann.next().1 == "told")
      // Bob's account is closed to version 1.
      let carol = try service.device("Carol")
      try await carol.settle()
      let sealed = try await carol.send("sealed", to: bob.user, readsVersion1Only: true)
      #expect(sealed.protection == .sealed)
      #expect(try await bob.nextOpened().1.protection == .sealed)
    }
  }

  /// A user comes from version 1 with a queue of messages and a forum, and closes version 1 behind.
  @Test func aUserMoves() async throws {
    try await withApptimist { service in
      let ann = try service.device("Ann")
      let old = try service.device("Bob", .generate(), .version1)
      try await old.settle()
      let forum = DeviceKeys.generate()
      try await old.device.makeForum(try #require(AccountName("Chess")), keys: forum)
      try await old.device.setMembers(.subscribers, of: forum.user, to: [ann.user, old.user])
      for text in ["1", "2", "3"] { try await ann.send(text, to: old.user) }
      #expect(try await old.next().1 == "1")
      let (last, text) = try await old.next()
      #expect(text == "2" && last.cursor.epoch == 0)

      var options = ApptimistDeviceTests.quick
      options.closesVersion1 = true
      let new = try service.device(nil, old.keys, cursor: last.cursor, options: options)
      let (third, rest) = try await new.next()
      #expect(rest == "3" && third.cursor.position == 3 && third.cursor.epoch != 0)
      // The old device is sent away, and not let in again.
      #expect(await old.refusal() == .refused)
      let post = try await new.send("who plays?", to: forum.user)
      #expect(post.protection == .signed)
      let (_, opened) = try await ann.nextOpened(forum: forum.encryption)
      #expect(opened == OpenedMessage(data: Array("who plays?".utf8), protection: .signed))
      await new.stop()
      try await ann.send("4", to: old.user)
      let next = try service.device(nil, old.keys, cursor: third.cursor)
      // Another device of the author's gets the post, too.
      #expect(try await next.next(forum: forum.encryption).1 == "who plays?")
      #expect(try await next.next().1 == "4")
    }
  }

  @Test func twoDevicesOfAUserHaveTheSamePositions() async throws {
    try await withApptimist { service in
      let ann = try service.device("Ann")
      let first = try service.device("Bob")
      try await first.settle()
      let second = try service.device(nil, first.keys)
      try await second.settle()
      for number in 1...5 { try await ann.send("\(number)", to: first.user) }
      var ids: [MessageID] = []
      for number in 1...5 {
        let (one, other) = (try await first.next(), try await second.next())
        #expect(one.1 == "\(number)" && other.1 == "\(number)" && one.0.id == other.0.id)
        #expect(one.0.cursor.position == number && other.0.cursor.position == number)
        ids.append(one.0.id)
      }
      try await first.device.truncate(ids[0])
      guard case .truncation(let id, let cursor)? = await second.nextEntry() else {
        Issue.record("no truncation")
        return
      }
      #expect(id == ids[0] && cursor.position == 6)
      // What it says of itself comes to the other only.
      try await first.send("a note", to: first.user)
      let (note, text) = try await second.next()
      #expect(text == "a note" && note.cursor.position == 7)
      await second.stop()
      // An installation that has acknowledged, and lost its cursor, goes on there.
      let lost = DeviceCursor(text: "\(note.cursor.installation.hex) 0 0 \(MessageID().hex)")
      let third = try service.device(nil, first.keys, cursor: note.cursor)
      try await third.settle()
      await third.device.stored(note.cursor)
      try await third.settle()
      await third.stop()
      try await ann.send("8", to: first.user)
      let fourth = try service.device(nil, first.keys, cursor: try #require(lost))
      #expect(try await fourth.next().1 == "8")
    }
  }

  @Test func listsComeInPages() async throws {
    try await withApptimist(configuration: "page = 2\n") { service in
      let devices = try (0..<5).map { try service.device("Ann \($0)") }
      for device in devices { try await device.settle() }
      let ann = devices[0].device
      let found = try await ann.search(name: "ann")
      #expect(Set(found.map(\.key)) == Set(devices.map(\.user)))
      #expect(try await ann.search(name: "ann", limit: 3).count == 3)
      #expect(found.allSatisfy { $0.kind == .user && $0.isClosed && !$0.hasChangedKey })
      for device in devices.dropFirst() { try await device.device.vouch(for: ann.user) }
      let vouchers = try await ann.vouchers(of: ann.user)
      #expect(vouchers.map(\.user) == devices.dropFirst().map(\.user))
      #expect(vouchers.allSatisfy { $0.evidence == .signature })
    }
  }

  @Test func aVoucherOfVersion1HasNoEvidence() async throws {
    try await withApptimist { service in
      let ann = try service.device("Ann")
      let bob = try service.device("Bob", .generate(), .version1)
      try await ann.settle()
      try await bob.device.vouch(for: ann.user)
      #expect(
        try await ann.device.vouchers(of: ann.user)
          == [DeviceVoucher(user: bob.user, evidence: .service)])
    }
  }

  @Test func aTokenMayBeLong() async throws {
    try await withApptimist { service in
      let keys = DeviceKeys.generate()
      let token = String(repeating: "t", count: 8_192)
      let account = try #require(NewAccount(name: "Ann", uid: "ann", token: token))
      #expect(NewAccount(name: "Ann", uid: "ann", token: token + "t") == nil)
      let device = try Device(
        keys: keys, service: service.pin, url: service.url, account: account,
        options: ApptimistDeviceTests.quick)
      let ann = RunningDevice(device, keys)
      #expect(try await ann.device.search(uid: "ann").map(\.key) == [keys.user])
    }
  }

  /// The device says nothing to a service that can't prove that it is the pinned one.
  @Test func anotherServiceIsRefused() async throws {
    try await withApptimist { service in
      #expect(service.pin.versions == .version2)
      let other = ServiceIdentity(encryption: .generate(), authentication: .generate())
      let device = try Device(
        keys: .generate(), service: ServicePin(other), url: service.url,
        account: NewAccount(name: "Ann"), options: ApptimistDeviceTests.quick)
      await #expect(throws: DeviceError.refused) { try await device.run() }
    }
  }

  /// A device that knows that its service speaks version 2 doesn't fall back.
  @Test func versionOneIsNoFallback() async throws {
    let service = ScriptedService { _, _, _ in }
    try await withServer(service) { url in
      let url = try #require(WebSocketURL("ws\(url.dropFirst(4))/siren"))
      let device = try Device(
        keys: .generate(), service: ServicePin(service.identity), url: url,
        options: ApptimistDeviceTests.quick)
      await #expect(throws: DeviceError.refused) { try await device.run() }
      #expect(service.received.isEmpty && service.ephemeralKeys.count == 1)
    }
  }

  @Test func aKeyIsTaken() async throws {
    try await withApptimist { service in
      let ann = try service.device("Ann")
      try await ann.settle()
      let thief = DeviceKeys(encryption: ann.keys.encryption, authentication: .generate())
      let eve = try service.device("Eve", thief)
      #expect(await eve.refusal() == .accountRefused(.keyTaken))
    }
  }
}
