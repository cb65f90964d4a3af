internal import HTTPProtocol
internal import Testing

@testable import WalletClient

/// The client's side without a socket, against the server's role of the codec.
@Suite struct WebSocketMachineTests {
  /// A machine whose handshake is done at second 0, with nothing to be written.
  private func opened(_ options: WebSocketOptions = WebSocketOptions()) throws -> WebSocketMachine {
    let url = try #require(WebSocketURL("ws://h/x"))
    var machine = WebSocketMachine(url, fields: HeaderFields(), options, now: 0)
    let request = String(decoding: machine.output, as: UTF8.self)
    machine.output = []
    let events = machine.received(Array(acceptance(of: request).utf8), now: 0)
    #expect(events == [.opened])
    return machine
  }

  private func frame(
    _ opcode: WebSocketFrame.Opcode, _ payload: [UInt8], isFinal: Bool = true
  ) -> [UInt8] {
    var bytes: [UInt8] = []
    WebSocketFrame.append(opcode, payload, isFinal: isFinal, mask: nil, to: &bytes)
    return bytes
  }

  /// What a server makes of a machine's output, which must be masked.
  private func written(_ machine: inout WebSocketMachine) -> [WebSocketDecoder.Event] {
    var decoder = WebSocketDecoder(role: .server, maximumMessage: 1 << 20)
    var events: [WebSocketDecoder.Event] = []
    var offset = 0
    let output = machine.output
    machine.output = []
    while let event = decoder.next(output.span.bytes, from: &offset) { events.append(event) }
    return events
  }

  @Test func asksAsRFC6455Says() throws {
    let url = try #require(WebSocketURL("ws://h:8080/x?q"))
    var fields = HeaderFields()
    fields.append(.authorization, "Bearer t")
    let machine = WebSocketMachine(url, fields: fields, WebSocketOptions(), now: 0)
    let text = String(decoding: machine.output, as: UTF8.self)
    #expect(text.hasPrefix("GET /x?q HTTP/1.1\r\nHost: h:8080\r\n"))
    #expect(text.hasSuffix("Authorization: Bearer t\r\n\r\n"))
  }

  @Test func takesTheHandshakeByteByByteAndFramesBehindIt() throws {
    let url = try #require(WebSocketURL("ws://h/"))
    var machine = WebSocketMachine(url, fields: HeaderFields(), WebSocketOptions(), now: 0)
    let bytes =
      Array(acceptance(of: String(decoding: machine.output, as: UTF8.self)).utf8)
      + frame(.text, [0x61])
    var events: [WebSocketMachine.Event] = []
    for byte in bytes { events += machine.received([byte], now: 0) }
    #expect(events == [.opened, .message(.text([0x61]))])
  }

  @Test(arguments: [
    ("HTTP/1.1 404 Not Found\r\n\r\n", WebSocketError.Code.refused(.notFound)),
    ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n", .malformed),
    ("SSH-2.0-OpenSSH\r\n\r\n", .malformed),
    (String(repeating: "x", count: 20_000), .malformed),
  ])
  func otherAnswers(_ text: String, _ code: WebSocketError.Code) throws {
    let url = try #require(WebSocketURL("ws://h/"))
    var machine = WebSocketMachine(url, fields: HeaderFields(), WebSocketOptions(), now: 0)
    #expect(
      machine.received(Array(text.utf8), now: 0)
        == [.ended(.failed(WebSocketError(code, "")))])
  }

  @Test func joinsFragmentsAndAnswersPings() throws {
    var machine = try opened()
    let bytes =
      frame(.binary, [1], isFinal: false) + frame(.ping, [9]) + frame(.continuation, [2])
    #expect(machine.received(bytes, now: 1) == [.message(.binary([1, 2]))])
    #expect(written(&machine) == [.pong([9])])
  }

  @Test func pingsASilentServerAndGivesUp() throws {
    var machine = try opened()
    #expect(machine.tick(now: 29_999, isReading: true) == nil)
    #expect(written(&machine) == [])
    #expect(machine.tick(now: 30_000, isReading: true) == nil)
    #expect(machine.tick(now: 40_000, isReading: true) == nil)
    #expect(written(&machine) == [.ping([])])
    #expect(machine.received(frame(.pong, []), now: 41_000) == [])
    #expect(machine.tick(now: 71_000, isReading: true) == nil)
    #expect(machine.tick(now: 101_000, isReading: true) == nil)
    #expect(written(&machine) == [.ping([]), .ping([])])
    #expect(
      machine.tick(now: 131_000, isReading: true)
        == .ended(.failed(WebSocketError(.timedOut, ""))))
  }

  @Test func isPatientWhileItDoesNotRead() throws {
    var machine = try opened()
    #expect(machine.tick(now: 500_000, isReading: false) == nil)
    #expect(machine.tick(now: 520_000, isReading: true) == nil)
    #expect(written(&machine) == [])
  }

  @Test func answersAClose() throws {
    var machine = try opened()
    var bytes = frame(.text, [0x61])
    WebSocketFrame.appendClose(1008, reason: "no", mask: nil, to: &bytes)
    #expect(
      machine.received(bytes, now: 0)
        == [.message(.text([0x61])), .ended(.closed(1008, reason: "no"))])
    #expect(written(&machine) == [.close(1008, reason: [])])
    #expect(machine.disconnected() == nil)
  }

  @Test func closes() throws {
    var machine = try opened()
    machine.send(.text([0x61]))
    machine.close(1000, reason: "bye", now: 10)
    machine.send(.text([0x62]))
    #expect(
      written(&machine) == [.message(.text([0x61])), .close(1000, reason: Array("bye".utf8))])
    var bytes = frame(.text, [0x63])
    WebSocketFrame.appendClose(1000, mask: nil, to: &bytes)
    #expect(machine.received(bytes, now: 11) == [.ended(.closed(1000, reason: ""))])
    #expect(machine.output.isEmpty)
  }

  @Test func awaitsTheServersCloseForAWhile() throws {
    var machine = try opened()
    machine.close(1000, reason: "", now: 0)
    #expect(machine.tick(now: 5_000, isReading: true) == nil)
    #expect(
      machine.tick(now: 5_001, isReading: true) == .ended(.failed(WebSocketError(.timedOut, ""))))
  }

  @Test func refusesWhatIsTooLongOrMasked() throws {
    var options = WebSocketOptions()
    options.maximumMessage = 4
    var machine = try opened(options)
    #expect(
      machine.received(frame(.binary, [1, 2, 3, 4, 5]), now: 0)
        == [.ended(.failed(WebSocketError(.tooLarge, "")))])
    #expect(written(&machine) == [.close(1009, reason: [])])
    machine = try opened(options)
    #expect(
      machine.received([0x82, 0x80, 1, 2, 3, 4], now: 0)
        == [.ended(.failed(WebSocketError(.malformed, "")))])
    #expect(written(&machine) == [.close(1002, reason: [])])
  }

  @Test func tellsOfABrokenConnectionOnce() throws {
    var machine = try opened()
    #expect(machine.disconnected() == .ended(.failed(.disconnected)))
    #expect(machine.disconnected() == nil)
  }
}
