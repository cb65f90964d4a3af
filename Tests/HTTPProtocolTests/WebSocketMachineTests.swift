internal import HTTPProtocol
internal import Testing

/// Both ends without a socket, each against frames as its peer sends them.
@Suite struct WebSocketMachineTests {
  typealias Machine = WebSocketMachine
  static let roles = [WebSocketDecoder.Role.server, .client]

  /// A machine that is open since moment 0, and what its driver would do.
  private struct Driver {
    let role: WebSocketDecoder.Role
    var machine: Machine

    init(_ role: WebSocketDecoder.Role, _ configure: (inout Machine.Limits) -> Void = { _ in }) {
      self.role = role
      var limits = Machine.Limits()
      configure(&limits)
      machine = Machine(role: role, limits: limits, now: 0)
    }

    /// A frame of the peer.
    func frame(
      _ opcode: WebSocketFrame.Opcode, _ payload: [UInt8] = [], isFinal: Bool = true
    ) -> [UInt8] {
      var bytes: [UInt8] = []
      let mask: UInt32? = role == .server ? 0x1234_5678 : nil
      WebSocketFrame.append(opcode, payload, isFinal: isFinal, mask: mask, to: &bytes)
      return bytes
    }

    func close(_ code: UInt16?, _ reason: String = "") -> [UInt8] {
      frame(.close, WebSocketFrame.closePayload(code, reason: reason))
    }

    mutating func receive(_ bytes: [UInt8], at now: Int64 = 0) -> [Machine.Action] {
      var actions: [Machine.Action] = []
      var offset = 0
      while let action = machine.next(bytes.span.bytes, from: &offset, now: now) {
        actions.append(action)
      }
      if machine.isHolding { machine.hold(bytes.span.bytes.extracting(offset...)) }
      return actions
    }
  }

  private func closePayload(_ code: UInt16) -> [UInt8] { WebSocketFrame.closePayload(code) }

  // MARK: Messages

  @Test(arguments: roles)
  func joinsFragmentsAndAnswersPings(role: WebSocketDecoder.Role) {
    var driver = Driver(role)
    let bytes =
      driver.frame(.binary, [1], isFinal: false) + driver.frame(.ping, [9])
      + driver.frame(.continuation, [2]) + driver.frame(.text, [0x61])
    let expected: [Machine.Action] = [
      .write(.pong, [9]), .deliver(.binary([1, 2])), .deliver(.text([0x61])),
    ]
    #expect(driver.receive(bytes) == expected)
    var patient = Driver(role)
    #expect(bytes.flatMap { patient.receive([$0]) } == expected)
  }

  @Test func masksAsItsRoleSays() {
    for role in Self.roles {
      var bytes: [UInt8] = []
      Driver(role).machine.append(.binary, [1, 2, 3], to: &bytes)
      #expect(bytes[1] & 0x80 == (role == .client ? 0x80 : 0))
      var peer = Driver(role == .client ? .server : .client)
      #expect(peer.receive(bytes) == [.deliver(.binary([1, 2, 3]))])
    }
  }

  @Test(arguments: roles)
  func refusesWhatIsTooLongOrMaskedWrongly(role: WebSocketDecoder.Role) {
    var driver = Driver(role) { $0.maximumMessage = 4 }
    #expect(
      driver.receive(driver.frame(.binary, [1, 2, 3, 4, 5]) + driver.frame(.ping))
        == [.end(.failed(1009), closeFrame: closePayload(1009), isLast: true)])
    #expect(driver.machine.outcome == .failed(1009))
    driver = Driver(role)
    let wrong = Driver(role == .server ? .client : .server).frame(.binary, [1])
    #expect(
      driver.receive(wrong)
        == [.end(.failed(1002), closeFrame: closePayload(1002), isLast: true)])
    #expect(driver.machine.tick(now: 1_000_000) == nil)
    #expect(driver.machine.peerEnded() == nil)
    #expect(driver.machine.fail(1013) == nil)
  }

  // MARK: Holding back

  @Test func holdsOneMessageBackAndAnswersThePingsBeforeIt() {
    var driver = Driver(.server)
    driver.machine.pause()
    let bytes =
      driver.frame(.ping, [1]) + driver.frame(.text, [0x61]) + driver.frame(.ping, [2])
      + driver.frame(.text, [0x62])
    #expect(driver.receive(bytes) == [.write(.pong, [1])])
    #expect(driver.machine.isHolding)
    // More of the same read, as TLS gives it.
    #expect(driver.receive(driver.frame(.text, [0x63])) == [])
    #expect(driver.machine.heldBytes > bytes.count / 2)
    guard let held = driver.machine.resume() else {
      Issue.record("nothing was held back")
      return
    }
    #expect(held.message == .text([0x61]))
    driver.machine.pause()
    #expect(driver.receive(held.rest) == [.write(.pong, [2])])
    #expect(driver.machine.resume()?.message == .text([0x62]))
    #expect(driver.machine.resume() == nil)
    #expect(driver.machine.heldBytes == 0)
  }

  @Test func findsThePeersCloseBehindWhatItHoldsBack() {
    var driver = Driver(.server)
    driver.machine.pause()
    #expect(driver.receive(driver.frame(.text, [0x61]) + driver.close(4002)) == [])
    #expect(
      driver.machine.close(4001, reason: "", now: 0) == .write(.close, closePayload(4001)))
    let held = driver.machine.resume()
    #expect(held?.message == nil)
    #expect(
      driver.receive(held?.rest ?? [])
        == [.end(.closed(4002, reason: []), closeFrame: nil, isLast: true)])
  }

  @Test(arguments: roles)
  func owesOnePongToAPeerThatDoesNotRead(role: WebSocketDecoder.Role) {
    var driver = Driver(role)
    #expect(driver.machine.drained() == nil)
    driver.machine.becameBackedUp()
    #expect(driver.receive(driver.frame(.ping, [1]) + driver.frame(.ping, [2])) == [])
    driver.machine.becameBackedUp()
    #expect(driver.machine.isBackedUp)
    #expect(driver.machine.drained() == .write(.pong, [2]))
    #expect(!driver.machine.isBackedUp)
    #expect(driver.receive(driver.frame(.ping, [3])) == [.write(.pong, [3])])
  }

  // MARK: Ends

  @Test func theServerEndsTheConnectionAfterBothCloseFrames() {
    var driver = Driver(.server)
    #expect(
      driver.receive(driver.frame(.text, [0x61]) + driver.close(1008, "no"))
        == [
          .deliver(.text([0x61])),
          .end(
            .closed(1008, reason: Array("no".utf8)), closeFrame: closePayload(1008), isLast: true),
        ])
    #expect(driver.machine.peerEnded() == nil)
  }

  @Test func theClientLetsTheServerEndTheConnection() {
    var driver = Driver(.client)
    #expect(
      driver.receive(driver.close(nil), at: 10)
        == [.end(.closed(1005, reason: []), closeFrame: [], isLast: false)])
    #expect(driver.machine.tick(now: 2_010) == nil)
    var patient = driver.machine
    #expect(patient.tick(now: 2_011) == .finish)
    #expect(patient.tick(now: 9_000) == nil)
    #expect(driver.machine.peerEnded() == .finish)
    #expect(driver.machine.peerEnded() == nil)
    #expect(driver.machine.outcome == .closed(1005, reason: []))
  }

  @Test(arguments: roles)
  func discardsMessagesAfterItsOwnCloseFrame(role: WebSocketDecoder.Role) {
    var driver = Driver(role)
    #expect(
      driver.machine.close(1000, reason: "bye", now: 10)
        == .write(.close, WebSocketFrame.closePayload(1000, reason: "bye")))
    #expect(!driver.machine.isOpen && driver.machine.outcome == nil)
    #expect(driver.machine.close(1001, reason: "", now: 10) == nil)
    #expect(
      driver.receive(
        driver.frame(.text, [0x63]) + driver.frame(.ping, [7]) + driver.close(1000), at: 11)
        == [
          .write(.pong, [7]),
          .end(.closed(1000, reason: []), closeFrame: nil, isLast: role == .server),
        ])
  }

  @Test(arguments: roles)
  func awaitsThePeersCloseForAWhile(role: WebSocketDecoder.Role) {
    var driver = Driver(role)
    _ = driver.machine.close(1000, reason: "", now: 0)
    #expect(driver.machine.tick(now: 5_000) == nil)
    #expect(driver.machine.tick(now: 5_001) == .abort)
    #expect(driver.machine.outcome == .unresponsive)
    #expect(driver.machine.tick(now: 9_000) == nil)
  }

  @Test(arguments: roles)
  func tellsOfABrokenConnectionOnce(role: WebSocketDecoder.Role) {
    var driver = Driver(role)
    #expect(
      driver.machine.peerEnded() == .end(.disconnected, closeFrame: nil, isLast: true))
    #expect(driver.machine.peerEnded() == nil)
    #expect(driver.machine.close(1000, reason: "", now: 0) == nil)
  }

  @Test func aViolationAfterItsOwnCloseFrameIsToldToNobody() {
    var driver = Driver(.server)
    _ = driver.machine.close(1000, reason: "", now: 0)
    #expect(
      driver.receive([0x83, 0x80, 0, 0, 0, 0])
        == [.end(.failed(1002), closeFrame: nil, isLast: true)])
  }

  // MARK: Time

  private func pingPayload(_ action: Machine.Action?) -> [UInt8]? {
    if case .write(.ping, let payload) = action { payload } else { nil }
  }

  @Test func theClientPingsASilentServerAndGivesUp() throws {
    var driver = Driver(.client)
    #expect(driver.machine.tick(now: 29_999) == nil)
    #expect(pingPayload(driver.machine.tick(now: 30_000)) != nil)
    #expect(driver.machine.tick(now: 40_000) == nil)
    #expect(driver.receive(driver.frame(.pong), at: 41_000) == [])
    #expect(driver.machine.tick(now: 70_999) == nil)
    #expect(pingPayload(driver.machine.tick(now: 71_000)) != nil)
    #expect(pingPayload(driver.machine.tick(now: 101_000)) != nil)
    #expect(driver.machine.tick(now: 131_000) == .abort)
  }

  @Test func theServerPingsWhateverComesAndKnowsItsOwnPongs() throws {
    var driver = Driver(.server)
    #expect(driver.receive(driver.frame(.text), at: 29_000) == [.deliver(.text([]))])
    let first = try #require(pingPayload(driver.machine.tick(now: 30_000)))
    // A pong that nobody asked for is no sign of life.
    #expect(driver.receive(driver.frame(.pong, [1]), at: 31_000) == [])
    let second = try #require(pingPayload(driver.machine.tick(now: 60_000)))
    #expect(first != second)
    // A late one is, but confirms nothing.
    #expect(driver.receive(driver.frame(.pong, first), at: 61_000) == [])
    #expect(driver.receive(driver.frame(.pong, second), at: 61_000) == [.confirm])
    #expect(driver.receive(driver.frame(.pong, second), at: 61_000) == [])
    #expect(pingPayload(driver.machine.tick(now: 90_000)) != nil)
    #expect(driver.receive(driver.frame(.text), at: 119_000) == [.deliver(.text([]))])
    #expect(pingPayload(driver.machine.tick(now: 120_000)) != nil)
    #expect(driver.machine.tick(now: 150_000) == .abort)
  }

  @Test(arguments: [true, false]) func onlyItsOwnPongsAreSignsOfLife(isLate: Bool) throws {
    var driver = Driver(.server)
    var previous = try #require(pingPayload(driver.machine.tick(now: 30_000)))
    var last = try #require(pingPayload(driver.machine.tick(now: 60_000)))
    for moment in stride(from: Int64(90_000), to: 300_000, by: 30_000) {
      // Each answer comes after the next ping.
      let pong = isLate ? previous : [1]
      _ = driver.receive(driver.frame(.pong, pong), at: moment - 1)
      let action = driver.machine.tick(now: moment)
      guard isLate else { return #expect(action == .abort) }
      (previous, last) = (last, try #require(pingPayload(action)))
    }
  }

  @Test func isPatientWhileItDoesNotRead() {
    var driver = Driver(.client)
    #expect(driver.machine.tick(now: 500_000, isReading: false) == nil)
    #expect(driver.machine.tick(now: 520_000) == nil)
    #expect(pingPayload(driver.machine.tick(now: 530_000)) != nil)
  }

  @Test func holdsAnUnfinishedMessageToARate() {
    var driver = Driver(.server) {
      $0.messageTime = .seconds(60)
      $0.messageProgress = 100
    }
    let part = [UInt8](repeating: 0, count: 60)
    #expect(driver.receive(driver.frame(.binary, part, isFinal: false), at: 1_000) == [])
    // It is not asked for a pong, which could not overtake the message.
    #expect(driver.machine.tick(now: 60_999) == nil)
    #expect(driver.receive(driver.frame(.continuation, part, isFinal: false), at: 60_999) == [])
    #expect(driver.machine.tick(now: 61_000) == nil)
    #expect(driver.machine.tick(now: 120_999) == nil)
    #expect(
      driver.machine.tick(now: 121_000)
        == .end(.failed(1008), closeFrame: closePayload(1008), isLast: true))
  }

  @Test func measuresEachMessageAnew() {
    var driver = Driver(.server) {
      $0.messageTime = .seconds(20)
      $0.messageProgress = 100
    }
    #expect(driver.receive([0x82], at: 0) == [])
    #expect(driver.receive([0x80, 0, 0, 0, 0] + [0x82], at: 19_000) == [.deliver(.binary([]))])
    #expect(driver.machine.tick(now: 38_999) == nil)
    #expect(driver.machine.tick(now: 39_000) != nil)
  }

  @Test func letsAnUnfinishedMessageTakeAnyTimeWithoutALimit() {
    var driver = Driver(.client)
    #expect(driver.receive(driver.frame(.binary, [1], isFinal: false), at: 0) == [])
    #expect(driver.machine.tick(now: 29_999) == nil)
    #expect(pingPayload(driver.machine.tick(now: 30_000)) != nil)
  }

  @Test(arguments: roles)
  func takesEndlessTimes(role: WebSocketDecoder.Role) {
    var driver = Driver(role) {
      $0.pingInterval = .seconds(Int64.max)
      $0.closeTimeout = .seconds(Int64.max)
      $0.messageTime = .seconds(Int64.max)
    }
    #expect(driver.receive([0x02], at: 1 << 40) == [])
    #expect(driver.machine.tick(now: 1 << 41) == nil)
    #expect(driver.machine.close(1000, reason: "", now: 1 << 41) != nil)
    #expect(driver.machine.tick(now: 1 << 42) == nil)
  }
}
