internal import Apptimist
internal import ApptimistProtocol
internal import Configuration
internal import Cryptography
internal import HTTPClient
internal import HTTPServer
internal import Observability
internal import ServiceKit
internal import Storage
internal import TestSupport
internal import Testing
internal import Threading
internal import WalletClient

/// The device against the service itself, over sockets and a database of its own.
@Suite struct ApptimistServiceTests {
  /// A running service.
  private struct Service {
    let url: WebSocketURL
    let identity: ServiceIdentity

    /// Starts a device, with a new account unless there is one.
    func device(
      _ name: String?, _ keys: DeviceKeys = .generate(), head: MessageID? = nil,
      options: DeviceOptions = ApptimistDeviceTests.quick
    ) throws -> Running {
      Running(
        try Device(
          keys: keys, service: identity, url: url, account: name.flatMap { NewAccount(name: $0) },
          head: head, options: options), keys)
    }
  }

  /// A device that runs until the last reference goes.
  private final class Running: Sendable {
    let device: Device
    let keys: DeviceKeys
    private let task: Task<Void, any Error>
    private let iterator: DeviceEntries

    init(_ device: Device, _ keys: DeviceKeys) {
      self.device = device
      self.keys = keys
      task = Task { try await device.run() }
      iterator = device.entries.makeAsyncIterator()
    }

    deinit { task.cancel() }

    func stop() async {
      task.cancel()
      _ = await task.result
    }

    /// Waits for the next message and returns its text.
    func next(forum: EncryptionKeyPair? = nil) async throws -> (DeviceMessage, String) {
      guard case .message(let message)? = await iterator.next() else { throw Nothing() }
      return (message, String(decoding: try device.open(message, forum: forum), as: UTF8.self))
    }

    func nextEntry() async -> StreamEntry? { await iterator.next() }

    func send(_ text: String, to key: EncryptionPublicKey) async throws -> MessageID {
      let message = try device.seal(Array(text.utf8), to: key)
      try await device.send(message)
      return message.id
    }
  }

  private struct Nothing: Error {}

  /// Runs the service on a folder, at the port of an earlier run if there is one, so that devices find it again.
  private func with(
    _ folder: TemporaryFolder? = nil, port: UInt16 = 0, _ body: (Service) async throws -> Void
  ) async throws {
    let folder = folder ?? TemporaryFolder()
    let text =
      "[apptimist]\nrefusal_min = \"0s\"\nrefusal_max = \"0s\"\nkeys = \"\(folder.path)/keys\"\n"
    let document = try ConfigurationDocument(parsing: Array(text.utf8), file: "/test.toml")
    let store = try await Store.open(
      .file("\(folder.path)/awd.sqlite3"), migrations: ApptimistService.migrations)
    let log = Log(level: .error, descriptor: -1)
    let service = try await ApptimistService(
      ServiceContext(
        configuration: ConfigurationReader(document).section("apptimist"), store: store, log: log,
        dataFolder: folder.path))
    var router = Router(service: ApptimistService.name)
    service.register(on: &router)
    let server = try HTTPServer(
      options: ServerOptions(endpoints: [.tcp(host: "127.0.0.1", port: port)], threads: 2),
      responder: try RouteTable([router], log: log), report: { _ in })
    try server.start()
    let url = try #require(WebSocketURL("ws://\(server.endpoints[0])/siren"))
    let result: Result<Void, any Error>
    do {
      let identity = try await ServiceIdentity.fetch(from: url, client: try HTTPClient())
      result = .success(try await body(Service(url: url, identity: identity)))
    } catch { result = .failure(error) }
    await server.drain(within: .milliseconds(200))
    await store.close()
    try result.get()
  }

  @Test func twoTalk() async throws {
    try await with { service in
      let ann = try service.device("Ann")
      let bob = try service.device("Bob")
      #expect(try await bob.device.search(name: "bob").map(\.key) == [bob.device.user])
      #expect(try await ann.device.search(name: "*", limit: 1).count == 1)
      let found = try await ann.device.user(bob.device.user)
      #expect(found?.name == "Bob")
      #expect(try await ann.device.search(name: "nobody").isEmpty)
      let id = try await ann.send("hello Bob", to: bob.device.user)
      let (message, text) = try await bob.next()
      #expect(text == "hello Bob" && message.id == id)
      #expect(message.from == ann.device.user && message.to == bob.device.user)
      _ = try await bob.send("hello Ann", to: ann.device.user)
      #expect(try await ann.next().1 == "hello Ann")
      await #expect(throws: DeviceError.unknownUser) {
        _ = try await ann.send("?", to: DeviceKeys.generate().user)
      }
    }
  }

  @Test func theHeadIsWhereTheStreamGoesOn() async throws {
    try await with { service in
      let ann = try service.device("Ann")
      let bob = try service.device("Bob")
      let user = bob.device.user
      // Messages can be sent to it once the account exists.
      _ = try await bob.device.user(user)
      for number in 0..<3 { _ = try await ann.send("\(number)", to: user) }
      #expect(try await bob.next().1 == "0")
      let (head, _) = try await bob.next()
      await bob.stop()
      let again = try service.device(nil, bob.keys, head: head.id)
      #expect(try await again.next().1 == "2")
      // Another of Bob's devices, without a head, gets everything; a truncation tells the first.
      var options = ApptimistDeviceTests.quick
      let other = try service.device(nil, bob.keys, options: options)
      for number in 0..<3 { #expect(try await other.next().1 == "\(number)") }
      try await other.device.truncate(head.id)
      #expect(await again.nextEntry() == .truncation(head.id))
      await #expect(throws: DeviceError.unknownMessage) {
        try await other.device.truncate(MessageID(header: [], data: []))
      }
      options.history = 1
      #expect(try await service.device(nil, bob.keys, options: options).next().1 == "2")
    }
  }

  @Test func aMessageSentTwiceIsQueuedOnce() async throws {
    try await with { service in
      let ann = try service.device("Ann")
      let bob = try service.device("Bob")
      _ = try await bob.device.user(bob.device.user)
      let message = try ann.device.seal([1], to: bob.device.user, time: 5)
      for _ in 0..<3 { try await ann.device.send(message) }
      _ = try await ann.send("last", to: bob.device.user)
      #expect(try await bob.next().0.time == 5)
      #expect(try await bob.next().1 == "last")
    }
  }

  @Test func pauseAndResume() async throws {
    try await with { service in
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
    try await with { service in
      let ann = try service.device("Ann")
      let bob = try service.device("Bob")
      _ = try await bob.device.user(bob.device.user)
      try await ann.device.vouch(for: bob.device.user)
      #expect(try await bob.device.vouchers(of: bob.device.user) == [ann.device.user])
      try await ann.device.revokeVouch(for: bob.device.user)
      #expect(try await bob.device.vouchers(of: bob.device.user) == [])
      await #expect(throws: DeviceError.unknownUser) {
        try await ann.device.vouch(for: DeviceKeys.generate().user)
      }
      await #expect(throws: DeviceError.unsendable) {
        try await ann.device.vouch(for: ann.device.user)
      }
    }
  }

  @Test func files() async throws {
    try await with { service in
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
    try await with { service in
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

  /// Devices find a service again that went away, and requests made meanwhile are done.
  @Test func theServiceRestarts() async throws {
    let folder = TemporaryFolder()
    let port = Lock<UInt16>(0)
    let devices = Lock<[Running]>([])
    try await with(folder) { service in
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
    try await with(folder, port: port.withLock { $0 }) { service in
      _ = try await sending.value
      #expect(try await bob.next().1 == "meanwhile")
      await ann.stop()
      await bob.stop()
    }
  }

  @Test func anAccountThatIsNotThere() async throws {
    try await with { service in
      let device = try Device(
        keys: .generate(), service: service.identity, url: service.url,
        options: ApptimistDeviceTests.quick)
      await #expect(throws: DeviceError.refused) { try await device.run() }
      var elsewhere = try #require(WebSocketURL("ws://127.0.0.1:\(service.url.port)/none"))
      elsewhere.query = nil
      let lost = try Device(
        keys: .generate(), service: service.identity, url: elsewhere,
        options: ApptimistDeviceTests.quick)
      await #expect(throws: DeviceError.refused) { try await lost.run() }
      await #expect(throws: ServiceIdentityError.notThere(404)) {
        _ = try await ServiceIdentity.fetch(from: elsewhere, client: try HTTPClient())
      }
    }
  }
}
