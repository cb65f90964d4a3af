internal import ApptimistProtocol
internal import Cryptography
internal import HTTPProtocol
internal import Observability
internal import Routing
internal import TestSupport
internal import Testing

@testable import Apptimist

@Suite("Connections") struct ConnectionTests {
  // MARK: Handshake

  @Test func takesTheKeyInBothForms() async throws {
    try await withServer { server in
      let key = EncryptionKeyPair.generate(for: .session).publicKey.hex
      for query in ["?\(key)", "?\(key.uppercased())", "?key=\(key)"] {
        let socket = try TestSocket(port: server.port, target: "/siren\(query)")
        #expect(socket.status == 101)
      }
    }
  }

  @Test func refusesOtherKeys() async throws {
    try await withServer { server in
      let registered = try await TestDevice.established(TestUser(), on: server)
      let fresh = EncryptionKeyPair.generate(for: .session).publicKey
      let good = fresh.hex
      let queries = [
        "", "?", "?key=", "?\(good.dropLast())", "?\(good)0", "?\(good.dropLast())g",
        "?\(good)&x=1", "?Key=\(good)", "?" + String(repeating: "0", count: 64),
        "?ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "?ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "?\(server.identity.encryptionKey.hex)", "?\(registered.user.key.hex)",
        "?\(registered.ephemeral.publicKey.hex)",
        // The same key, written otherwise.
        "?\(Self.withHighestBit(registered.ephemeral.publicKey))", "?\(Self.withHighestBit(fresh))",
      ]
      for query in queries {
        let socket = try TestSocket(port: server.port, target: "/siren\(query)")
        #expect(socket.status == 400, "\(query)")
      }
    }
  }

  @Test func publishesTheKeysAndAsksForAWebSocket() async throws {
    try await withServer { server in
      var router = Router(service: "apptimist")
      server.service.register(on: &router)
      let table = try RouteTable([router], log: Log(level: .error, descriptor: -1))
      func get(_ path: String) async throws -> Response {
        let head = try RequestHead(method: .get, path: path, authority: "h", fields: [])
        return await table.respond(
          to: Request(head: head, body: [], origin: RequestOrigin(peer: "127.0.0.1")))
      }
      let plain = try await get("/siren")
      #expect(plain.status == .upgradeRequired)
      let answer = try await get("/siren/service.json")
      guard case .array(let json) = answer.body else { return #expect(Bool(false)) }
      #expect(try ServiceDocument(json: json).identity == server.identity)
      #expect(try ServiceDocument(json: json).service == "siren")
    }
  }

  private static let notCanonical = EncryptionPublicKey(
    hex: "f0ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f")

  private static func withHighestBit(_ key: EncryptionPublicKey) -> String {
    var bytes = key.bytes
    bytes[31] |= 0x80
    return Hex.encode(bytes)
  }

  // MARK: What breaks the protocol

  private static func malformed(
    _ identity: ServiceIdentity
  ) -> [(what: String, opcode: WebSocketFrame.Opcode, payload: [UInt8], code: UInt16)] {
    let big = [UInt8](repeating: 0, count: 8 + 4113)
    return [
      ("text", .text, Array("hello".utf8), 1003),
      ("nothing", .binary, [], 1002),
      ("too little", .binary, [0, 0, 0, 1, 0, 0, 0, 0], 1002),
      ("too much", .binary, [0, 0, 0, 0, 0, 0, 0, 0, 0], 1002),
      ("huge lengths", .binary, [UInt8](repeating: 0xff, count: 8), 1002),
      ("a large header", .binary, [0, 0, 0x10, 0x11] + big.dropFirst(4), 1009),
      (
        "a header that doesn't open", .binary, [0, 0, 0, 16] + [UInt8](repeating: 0, count: 20),
        1008
      ),
      ("no header", .binary, [UInt8](repeating: 0, count: 8), 1008),
    ]
  }

  @Test(arguments: [false, true]) func closesOnMalformedFrames(isLoggedIn: Bool) async throws {
    try await withServer { server in
      for (what, opcode, payload, code) in Self.malformed(server.identity) {
        let device =
          isLoggedIn
          ? try await TestDevice.established(TestUser(), on: server)
          : try TestDevice(TestUser(), to: server)
        try device.socket.send(opcode, payload)
        #expect(try await device.next() == .closed(code), "\(what)")
      }
      let device = try TestDevice(TestUser(), to: server)
      try device.socket.send(.binary, [UInt8](repeating: 0, count: 2 << 20))
      #expect(try await device.next() == .closed(1009))
    }
  }

  @Test(arguments: [false, true]) func closesOnMalformedHeaders(isLoggedIn: Bool) async throws {
    try await withServer { server in
      let truncate = PDU.truncate(PDU.Truncate(message: MessageID())).encoded()
      let headers: [[UInt8]] = [
        [], [1], [0, 7], [2, 7], [1, 7, 0], Array(truncate.dropLast()), truncate + [0],
        [1, 10] + [UInt8](repeating: 0, count: 35) + [1],
      ]
      for header in headers {
        let device =
          isLoggedIn
          ? try await TestDevice.established(TestUser(), on: server)
          : try TestDevice(TestUser(), to: server)
        try device.send(header: header)
        #expect(try await device.next() == .closed(1008), "\(header)")
      }
    }
  }

  @Test func ignoresUnknownTypesAndWhatIsNotForDevices() async throws {
    try await withServer { server in
      let user = TestUser()
      let device = try TestDevice(user, to: server)
      func sendStrays() throws {
        for type in [0, 19, 255] as [UInt8] { try device.send(header: [1, type, 1, 2, 3]) }
        try device.send(.redirect(try #require(PDU.Redirect(uri: "ws://x/"))))
        try device.send(.user(.nobody))
        try device.send(.vouchers(PDU.Vouchers(subject: user.key, vouchers: [user.key])))
      }
      try sendStrays()
      try device.send(try user.new())
      try device.send(user.login())
      try sendStrays()
      try device.send(user.login())
      try await device.settle()
      let ignored = server.metrics.render().split(separator: "\n")
        .first { $0.hasPrefix("awd_apptimist_pdus_ignored_total ") }
      #expect(ignored == "awd_apptimist_pdus_ignored_total 12")
    }
  }

  @Test func ignoresBeforeTheLogin() async throws {
    try await withServer { server in
      let user = TestUser()
      let other = try await TestDevice.established(TestUser(), on: server)
      let device = try TestDevice(user, to: server)
      try device.send(try user.new())
      try device.send("early", to: other.user.key)
      let name = try #require(ShortBytes("x"))
      let early: [PDU] = [
        .del(PDU.Del(key: user.key)), .truncate(PDU.Truncate(message: MessageID())),
        .pause(PDU.Pause()), .resume(PDU.Resume()),
        .vouch(PDU.Vouch(subject: user.key, signature: Signature())),
        .vouchers(PDU.Vouchers(subject: user.key, vouchers: [])),
        .searchByName(PDU.SearchByName(maxUsers: 0, text: name)),
        .searchByUid(PDU.SearchByUid(maxUsers: 0, text: name)),
        .searchByKey(PDU.SearchByKey(key: user.key)),
        .read(PDU.Read(directory: user.key, filename: name)),
        .lock(PDU.Lock(directory: user.key, filename: name)),
        .write(PDU.Write(directory: user.key, filename: name)),
        .remove(PDU.Remove(directory: user.key, filename: name)),
      ]
      for pdu in early { try device.send(pdu) }
      try device.send(user.login())
      try await device.settle()
      try await other.settle()
      // `pause` was ignored too.
      try other.send("late", to: user.key)
      #expect(try await device.nextText() == "late")
    }
  }

  // MARK: Joining

  @Test func refusesLogins() async throws {
    try await withServer { server in
      let user = TestUser()
      let there = try await TestDevice.established(user, on: server)
      let forum = TestUser("forum")
      try there.send(try forum.new())
      try await there.settle()
      let other = TestUser()
      let logins: [(String, PDU)] = [
        ("unknown", other.login()), ("a forum", forum.login()),
        (
          "another's signature",
          .login(
            PDU.Login(
              user: user.key, signature: other.authentication.sign(user.key), max: 0,
              head: MessageID()))
        ),
        (
          "no signature",
          .login(PDU.Login(user: user.key, signature: Signature(), max: 0, head: MessageID()))
        ),
      ]
      for (what, login) in logins {
        let device = try TestDevice(other, to: server)
        try device.send(login)
        #expect(try await device.next() == .closed(1008), "\(what)")
      }
    }
  }

  @Test func refusesNewAccounts() async throws {
    try await withServer { server in
      let taken = try await TestDevice.established(TestUser("taken"), on: server)
      let user = TestUser()
      let device = try TestDevice(user, to: server)
      func new(
        key: EncryptionPublicKey = user.key,
        authenticationKey: AuthenticationPublicKey = user.authentication.publicKey,
        name: [UInt8] = [65], uid: [UInt8] = []
      ) throws -> PDU {
        .new(
          PDU.New(
            key: key, authenticationKey: authenticationKey, name: try #require(ShortBytes(name)),
            uid: try #require(ShortBytes(uid)), token: .empty))
      }
      let refused: [(String, PDU)] = [
        ("taken", try new(key: taken.user.key)), ("low order", try new(key: EncryptionPublicKey())),
        ("weak signatures", try new(authenticationKey: AuthenticationPublicKey())),
        ("not canonical", try new(key: try #require(Self.notCanonical))),
        ("no name", try new(name: [])), ("bad name", try new(name: [0xff])),
        ("control character", try new(name: [65, 10])), ("bad uid", try new(uid: [0xff])),
        ("the service's", try new(key: server.identity.encryptionKey)),
      ]
      for (what, pdu) in refused {
        let device = try TestDevice(user, to: server)
        try device.send(pdu)
        #expect(try await device.next() == .closed(1008), "\(what)")
      }
      try device.send(try new())
      try device.send(try new(name: [66]))
      try device.send(user.login())
      try await device.settle()
      let again = try TestDevice(user, to: server)
      try again.send(try new(uid: [49]))
      #expect(try await again.next() == .closed(1008))
      let two = try TestDevice(TestUser(), to: server)
      try two.send(try two.user.new())
      try two.send(try TestUser().new())
      #expect(try await two.next() == .closed(1008))
      let own = try TestDevice(user, to: server)
      try own.send(try new(key: own.ephemeral.publicKey))
      #expect(try await own.next() == .closed(1008))
    }
  }

  @Test func closesWhoDoesNotLogIn() async throws {
    // A machine that stands still for longer than the time-out has the next one tried.
    for timeout in [1, 5, 25] {
      var isInTime = false
      try await withServer("login_timeout = \"\(timeout)s\"") { server in
        let silent = try TestDevice(TestUser(), to: server)
        let busy = try TestDevice(TestUser(), to: server)
        try? busy.send(try busy.user.new())
        let logged = try? await TestDevice.established(TestUser(), on: server)
        #expect(try await silent.next() == .closed(1008))
        #expect(try await busy.next() == .closed(1008))
        guard let logged else { return }
        isInTime = true
        try await logged.settle()
      }
      if isInTime { return }
    }
    Issue.record("nobody logs in in time")
  }

  @Test func closesTheOldestOfTooManySessions() async throws {
    try await withServer("sessions = 2") { server in
      let user = TestUser()
      let first = try await TestDevice.established(user, on: server)
      let second = try await TestDevice.established(user, on: server)
      let third = try await TestDevice.established(user, on: server)
      #expect(try await first.next() == .closed(1008))
      try await second.settle()
      try await third.settle()
    }
  }

  // MARK: Replays

  @Test func changesNothingWhenReplayed() async throws {
    try await withServer { server in
      let bob = try await TestDevice.established(TestUser(), on: server)
      let ephemeral = EncryptionKeyPair.generate(for: .session)
      let target = "/siren?\(ephemeral.publicKey.hex)"
      // Two connections with the key before it is used: one of them wins.
      let early = try TestSocket(port: server.port, target: target)
      let user = TestUser()
      let device = try TestDevice(user, to: server, ephemeral: ephemeral)
      try device.send(try user.new())
      try device.send(user.login())
      try device.send("pay", to: bob.user.key)
      #expect(try await bob.nextText() == "pay")
      let filename = try #require(ShortBytes("f"))
      let box = try #require(
        BoxKey(own: user.encryption, peer: server.identity.encryptionKey))
      try device.send(
        .write(PDU.Write(directory: user.key, filename: filename)),
        data: box.seal([1], nonce: server.identity.dataNonce))
      _ = try await device.nextPDU()
      #expect(try await device.write("newer", to: "f", in: user.key) == .done)

      try early.write(device.socket.recorded)
      #expect(try await early.next() == .closed(1008))
      #expect(try TestSocket(port: server.port, target: target).status == 400)
      #expect(try await device.read("f", in: user.key) == (.done, "newer"))
      try await bob.settle()
    }
  }

  @Test func remembersUsedKeysOverARestart() async throws {
    let folder = TemporaryFolder()
    let ephemeral = EncryptionKeyPair.generate(for: .session)
    try await withServer(in: folder) { server in
      let user = TestUser()
      let device = try TestDevice(user, to: server, ephemeral: ephemeral)
      try device.send(try user.new())
      try device.send(user.login())
      try await device.settle()
    }
    try await withServer(in: folder) { server in
      let target = "/siren?\(ephemeral.publicKey.hex)"
      let socket = try TestSocket(port: server.port, target: target)
      #expect(socket.status == 400)
    }
  }

  // MARK: Redirects

  @Test func redirectsWhenTheCountersAreUsedUp() async throws {
    try await withServer { server in
      let user = TestUser()
      let device = try await TestDevice.established(user, on: server)
      // Three PDUs were sent.
      for _ in 0..<32_500 { try device.send(header: [1, 0]) }
      try device.send("to myself", to: user.key)
      let uri = "ws://127.0.0.1:\(server.port)/siren"
      #expect(try await device.nextPDU().pdu == .redirect(try #require(PDU.Redirect(uri: uri))))
      #expect(try await device.next() == .closed(1001))
    }
  }

  @Test func redirectsWhenTheServerStops() async throws {
    let server = try await TestServer.start(publicURL: "https://example.com/app")
    let device = try await TestDevice.established(TestUser(), on: server)
    let unused = try TestDevice(TestUser(), to: server)
    async let stopped: Void = server.stop()
    let redirect = try #require(PDU.Redirect(uri: "wss://example.com/app/siren"))
    #expect(try await device.next() == .pdu(.redirect(redirect), data: []))
    #expect(try await device.next() == .closed(1001))
    #expect(try await unused.next() == .closed(1001))
    device.socket.cut()
    unused.socket.cut()
    await stopped
  }
}
