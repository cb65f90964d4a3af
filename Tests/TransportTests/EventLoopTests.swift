internal import Glibc
internal import TestSupport
internal import Testing
internal import Platform
internal import Transport

@Suite(.ownThreads) struct EventLoopTests {
  /// Notes things in order, from any thread.
  private final class Journal<Entry: Sendable>: Sendable {
    private let state = Lock<[Entry]>([])
    var entries: [Entry] { state.withLock { $0 } }
    func note(_ entry: Entry) { state.withLock { $0.append(entry) } }
  }

  /// Runs a closure on a loop of its own, and waits for the loop's end, which the closure must bring about.
  private func onLoop(_ body: @escaping @Sendable (EventLoop) -> Void) async throws {
    let loop = try EventLoop(named: "test-loop")
    loop.execute { body(loop) }
    try await withCheckedThrowingContinuation {
      (continuation: CheckedContinuation<Void, any Error>) in
      do { try loop.start { continuation.resume() } } catch { continuation.resume(throwing: error) }
    }
  }

  @Test func runsClosuresInOrderAlsoThoseFromBeforeItsStart() async throws {
    let journal = Journal<Int>()
    try await onLoop { loop in
      #expect(loop.isCurrent)
      journal.note(1)
      loop.execute { journal.note(3) }
      loop.execute { loop.end() }
      journal.note(2)
    }
    #expect(journal.entries == [1, 2, 3])
  }

  @Test func runsTasksAndHandsThemOverAfterItsEnd() async throws {
    let loop = try EventLoop(named: "test-loop")
    try loop.start()
    let isCurrent = await Task(executorPreference: loop) { loop.isCurrent }.value
    #expect(isCurrent && !loop.isCurrent)
    await Task(executorPreference: loop) {
      loop.end()
    }.value
    let later = Task(executorPreference: loop) { 7 }
    #expect(await later.value == 7)
    loop.execute { Issue.record("a closure ran after the end") }
  }

  @Test func firesTimersUntilTheyAreClosed() async throws {
    let journal = Journal<Int64>()
    try await onLoop { loop in
      var timer: LoopTimer?
      let start = loop.now
      timer = LoopTimer(on: loop) {
        journal.note(loop.now - start)
        guard journal.entries.count == 2 else {
          timer?.start(after: .milliseconds(5))
          return
        }
        timer?.close()
        timer = nil
        loop.end()
      }
      timer?.start(after: .seconds(3600))
      timer?.start(after: .milliseconds(5))
    }
    #expect(journal.entries.count == 2 && journal.entries.allSatisfy { $0 >= 5 && $0 < 3_000_000 })
  }

  /// Echoes its input, and ends with its peer.
  private final class Echo: ConnectionProtocol {
    let connection: Connection
    init(_ connection: Connection) { self.connection = connection }
    func received(_ input: RawSpan) {
      connection.stage { output in input.withUnsafeBytes { output.append(contentsOf: $0) } }
    }
    func peerEnded() { connection.finish() }
    func drained() {}
    func tick() {}
    func ended() {}
  }

  /// Sends bytes, and collects the same number.
  private final class Sender: ConnectionProtocol {
    let connection: Connection
    let bytes: [UInt8]
    let collected: Journal<[UInt8]>
    private var input: [UInt8] = []

    init(_ connection: Connection, _ bytes: [UInt8], _ collected: Journal<[UInt8]>) {
      self.connection = connection
      self.bytes = bytes
      self.collected = collected
    }
    func received(_ input: RawSpan) {
      input.withUnsafeBytes { self.input.append(contentsOf: $0) }
      if self.input.count == bytes.count { connection.finish() }
    }
    func peerEnded() { connection.finish() }
    func drained() {}
    func tick() {}
    func ended() { collected.note(input) }
  }

  @Test(arguments: [1, 100_000, 5_000_000])
  func carriesBytesBothWaysAndEndsWithItsLastConnection(count: Int) async throws {
    let collected = Journal<[UInt8]>()
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    try await onLoop { loop in
      var pair: [Int32] = [0, 0]
      let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue)
      #expect(socketpair(AF_UNIX, kind, 0, &pair) == 0)
      if let echo = loop.adopt(pair[0], isLocal: true),
        let sender = loop.adopt(pair[1], isLocal: true)
      {
        #expect(loop.connection(echo.id) === echo)
        echo.start(Echo(echo))
        sender.start(Sender(sender, bytes, collected))
        sender.stage { $0 += bytes }
      }
      loop.end()
    }
    #expect(collected.entries == [bytes])
  }

  @Test func resetsConnectionsThatOutlastItsEnd() async throws {
    let collected = Journal<[UInt8]>()
    let loop = Lock<EventLoop?>(nil)
    try await onLoop { running in
      loop.withLock { $0 = running }
      var pair: [Int32] = [0, 0]
      let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue)
      #expect(socketpair(AF_UNIX, kind, 0, &pair) == 0)
      for descriptor in pair {
        guard let connection = running.adopt(descriptor, isLocal: true) else { continue }
        connection.start(Sender(connection, [1], collected))
      }
      running.end(within: .zero)
    }
    #expect(collected.entries == [[], []])
    #expect(loop.withLock { $0 }?.statistics.open.value == 0)
  }

  /// Takes longer for its input than a turn has time, and notes whose it is.
  private final class Slow: ConnectionProtocol {
    let connection: Connection
    let owner: Int
    let served: Journal<Int>

    init(_ connection: Connection, _ owner: Int, _ served: Journal<Int>) {
      self.connection = connection
      self.owner = owner
      self.served = served
      connection.turnOwner = WorkOwner(number: owner)
    }
    func received(_ input: RawSpan) {
      served.note(owner)
      usleep(15_000)
    }
    func peerEnded() { connection.finish() }
    func drained() {}
    func tick() {}
    func ended() {}
  }

  @Test func ownersTakeTurnsWhereALoopHasMuchInput() async throws {
    let served = Journal<Int>()
    try await onLoop { loop in
      // Twenty of one owner have sent something, and after them one of another.
      for owner in Array(repeating: 1, count: 20) + [2] {
        var pair: [Int32] = [0, 0]
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue)
        #expect(socketpair(AF_UNIX, kind, 0, &pair) == 0)
        #expect(write(pair[1], "x", 1) == 1)
        close(pair[1])
        guard let connection = loop.adopt(pair[0], isLocal: true) else { continue }
        connection.start(Slow(connection, owner, served))
      }
      loop.end()
    }
    #expect(served.entries.count == 21)
    let place = served.entries.firstIndex(of: 2)
    #expect(place.map { $0 < 10 } == true, "\(served.entries)")
  }

  // MARK: Connecting

  /// A socket that listens on 127.0.0.1, and its port.
  private func listen() throws -> (descriptor: Int32, port: UInt16) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 && Glibc.listen(descriptor, 8) == 0
          && getsockname(descriptor, $0, &length) == 0
      }
    }
    try #require(isBound)
    return (descriptor, UInt16(bigEndian: address.sin_port))
  }

  private func attempt(
    _ host: String, _ port: UInt16, within limit: Duration = .seconds(30)
  ) async throws -> ConnectionAttempt.Failure? {
    let results = Journal<ConnectionAttempt.Failure?>()
    try await onLoop { loop in
      _ = ConnectionAttempt(host: host, port: port, within: limit, on: loop) { result in
        switch result {
        case .success(let socket):
          close(socket)
          results.note(nil)
        case .failure(let failure): results.note(failure)
        }
        loop.end()
      }
    }
    #expect(results.entries.count == 1)
    return results.entries.first ?? .outOfResources
  }

  @Test func connectsByNameAndByAddress() async throws {
    let (descriptor, port) = try listen()
    defer { close(descriptor) }
    #expect(try await attempt("127.0.0.1", port) == nil)
    // Of the name's two addresses one may have no listener.
    #expect(try await attempt("localhost", port) == nil)
    #expect(try await attempt("127.0.0.1", 1) == .notConnected)
    let unknown = try await attempt("name.invalid", port, within: .seconds(2))
    #expect(unknown == .unknownHost || unknown == .timedOut)
  }

  @Test func aCancelledAttemptTellsNothing() async throws {
    let (descriptor, port) = try listen()
    defer { close(descriptor) }
    try await onLoop { loop in
      for host in ["127.0.0.1", "localhost", "name.invalid"] {
        let attempt = ConnectionAttempt(host: host, port: port, within: .seconds(5), on: loop) {
          _ in
          Issue.record("told")
        }
        attempt.cancel()
      }
      loop.end()
    }
  }
}
