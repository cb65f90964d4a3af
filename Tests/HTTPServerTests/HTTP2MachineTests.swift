internal import CNghttp2
internal import HTTPProtocol
internal import Testing

@testable import HTTPServer

/// The machine, driven by bytes without a socket.
@Suite("HTTP/2 machine") struct HTTP2MachineTests {
  private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

  private func machine() throws -> HTTP2Machine {
    let machine = try #require(HTTP2Machine(HTTP2Machine.Limits(), now: 0))
    let settings = HTTP2Frame(kind: .settings)
    _ = receive(machine, Self.preface + settings.bytes)
    _ = frames(of: machine)
    return machine
  }

  private func request(_ stream: UInt32, ends: Bool = true) -> HTTP2Frame {
    HTTP2Frame(
      kind: .headers, flags: HTTP2Frame.endHeaders | (ends ? HTTP2Frame.endStream : 0),
      stream: stream, payload: HTTP2Client.block(HTTP2Client.request("/", method: "POST")))
  }

  private func receive(
    _ machine: HTTP2Machine, _ bytes: [UInt8], now: Int64 = 0
  ) -> [HTTP2Machine.Action] {
    machine.receive(bytes.span.bytes, now: now).actions
  }

  /// Takes the output apart.
  private func frames(of machine: HTTP2Machine, now: Int64 = 0) -> [HTTP2Frame] {
    var output: [UInt8] = []
    while machine.write(into: &output, upTo: 1 << 20, now: now).hadFrames {}
    var frames: [HTTP2Frame] = []
    var rest = output[...]
    while rest.count >= 9 {
      let head = Array(rest.prefix(9))
      let length = head[..<3].reduce(0) { $0 << 8 | Int($1) }
      let stream = head[5...].reduce(0) { $0 << 8 | UInt32($1) }
      frames.append(
        HTTP2Frame(
          kind: HTTP2Frame.Kind(rawValue: head[3]) ?? .unknown, flags: head[4], stream: stream,
          payload: Array(rest.dropFirst(9).prefix(length))))
      rest = rest.dropFirst(9 + length)
    }
    return frames
  }

  @Test(arguments: [1, 7, 1000]) func tellsOfARequestHoweverItIsCut(_ size: Int) throws {
    let machine = try machine()
    let body = HTTP2Frame(
      kind: .data, flags: HTTP2Frame.endStream, stream: 1, payload: Array("abc".utf8))
    let bytes = request(1, ends: false).bytes + body.bytes
    var told: [String] = []
    for start in stride(from: 0, to: bytes.count, by: size) {
      for action in receive(machine, Array(bytes[start..<min(bytes.count, start + size)])) {
        switch action {
        case .head(_, let head, let hasBody): told.append("\(head.method.name) \(hasBody)")
        case .body(_, let bytes): told.append(String(decoding: bytes, as: UTF8.self))
        case .end: told.append("end")
        case .refuse, .wrote, .closed: told.append("wrong")
        }
      }
    }
    #expect(told.first == "POST true")
    #expect(told.dropFirst().dropLast().joined() == "abc")
    #expect(told.last == "end")
  }

  @Test func sendsAResponseAndForgetsTheStream() throws {
    let machine = try machine()
    _ = receive(machine, request(1).bytes)
    let stream = try #require(machine.streams[1])
    let response = Response(.ok, type: "text/plain", text: "abc")
    machine.respond(response, to: stream, date: [], now: 0)
    #expect(machine.untaken == 3)
    let sent = frames(of: machine)
    #expect(sent.map(\.kind) == [.headers, .data])
    #expect(sent.last?.payload == Array("abc".utf8))
    #expect(sent.last?.flags == HTTP2Frame.endStream)
    #expect(machine.streams.isEmpty && machine.untaken == 0)
  }

  @Test func endsAFloodOfResets() throws {
    let machine = try machine()
    var closed = 0
    for stream in stride(from: UInt32(1), to: 1000, by: 2) where machine.fault == nil {
      let reset = HTTP2Frame(kind: .reset, stream: stream, payload: bigEndian(8))
      for action in receive(machine, request(stream).bytes + reset.bytes) {
        if case .closed = action { closed += 1 }
      }
    }
    #expect(machine.fault == .flood)
    // SETTINGS have cost a point.
    #expect(closed == (HTTP2Allowance.limit - 1) / HTTP2Allowance.Charge.lostRequest.rawValue)
    let goaway = try #require(frames(of: machine).last { $0.kind == .goaway })
    #expect(goaway.number(at: 4) == 11)
  }

  @Test func refusesASlowBodyAndEndsAnIdleConnection() throws {
    let machine = try machine()
    _ = receive(machine, request(1, ends: false).bytes)
    let early = machine.tick(now: 10_000, isBackedUp: false)
    #expect(early.actions.isEmpty && early.isFastEnough)
    let late = machine.tick(now: 20_000, isBackedUp: false)
    guard case .refuse(let stream, let failure) = late.actions.first else {
      Issue.record("the body is awaited for ever")
      return
    }
    #expect(failure.status == .requestTimeout)
    machine.reset(stream, NGHTTP2_NO_ERROR)
    _ = frames(of: machine, now: 20_000)
    #expect(machine.streams.isEmpty && !machine.isOver)
    _ = machine.tick(now: 80_001, isBackedUp: false)
    #expect(frames(of: machine, now: 80_001).map(\.kind) == [.goaway])
    #expect(machine.isOver)
  }
}
