internal import ApptimistProtocol
internal import Cryptography
internal import Foundation
internal import HTTPClient
internal import HTTPProtocol
internal import Synchronization
internal import Platform
internal import WalletClient

/// Users of all three services at once, first as fast as they are served, then at half that speed.
final class MixedLoad: Sendable {
  /// A kind of work, and how many workers do it at once.
  private struct Work: Sendable {
    let name: String
    let workers: Int
    let step: @Sendable (Int) async throws -> Void
  }

  /// The duration of the measurement at full speed, in seconds.
  private static let measuring = 10
  /// The number of lines that are printed during the time at half speed.
  private static let lines = 20

  private let server: ServerUnderLoad
  private let works: [Work]
  private let done: Lock<[Int]>
  private let failures = Lock<[String]>([])
  /// The tasks that read what is sent.
  private let readers: [Task<Void, Never>]

  /// Makes the accounts.
  init(_ server: ServerUnderLoad) async throws {
    self.server = server
    let client = try WebClient()
    let script = "\(server.url)/2020/03/0x6b175474e89094c44da98b954eedeac495271d0f"
    guard
      let modified = try await client.send(OutgoingRequest(.get, script)).fields
        .first(.lastModified)
    else { throw ServerUnderLoad.Failure(description: "there is no TokenScript") }

    let msgr = try MsgrServer(server.url)
    var users: [MsgrSession] = []
    for number in 0..<8 {
      users.append(
        try await msgr.register(
          "user\(number)", password: "a password", device: "stream:device-\(number)"))
    }
    // Its devices come and go: beyond the limit the oldest loses its token.
    _ = try await msgr.register("visitor", password: "a password", device: "stream:visitor-0")
    // Half of them listen; the others are pushed to.
    var readers: [Task<Void, Never>] = []
    var streams: [MsgrStream] = []
    for user in users.prefix(4) {
      let stream = try await user.stream()
      streams.append(stream)
      readers.append(Task { while (try? await stream.next()) != nil {} })
    }

    let identity = try await ServicePin.fetch(from: server.siren, client: client)
    var devices: [Device] = []
    let keys = (0..<8).map { _ in DeviceKeys.generate() }
    for number in 0..<8 {
      let device = try Device(
        keys: keys[number], service: identity, url: server.siren,
        account: NewAccount(name: "device\(number)"))
      devices.append(device)
      readers.append(Task { try? await device.run() })
      readers.append(
        Task {
          for await case .message(let message) in device.entries {
            _ = try? await device.open(message)
          }
        })
      _ = try await device.user(device.user)
    }
    guard let file = Filename("state") else {
      throw ServerUnderLoad.Failure(description: "no name")
    }
    works = Self.works(
      client, script: script, modified: modified, users: users, streams: streams, msgr: msgr,
      devices: devices, file: file
    ) { try Device(keys: keys[7], service: identity, url: server.siren) }
    done = Lock(Array(repeating: 0, count: works.count))
    self.readers = readers
  }

  private static func works(
    _ client: WebClient, script: String, modified: String, users: [MsgrSession],
    streams: [MsgrStream], msgr: MsgrServer, devices: [Device], file: Filename,
    visitor: @escaping @Sendable () throws -> Device
  ) -> [Work] {
    let number = Counter()
    return [
      Work(name: "scripts", workers: 4) { worker in
        var fields = HeaderFields()
        if worker.isMultiple(of: 2) { fields.append(.ifModifiedSince, modified) }
        _ = try await client.send(OutgoingRequest(.get, script, fields: fields))
      },
      Work(name: "messages", workers: 4) { worker in
        let next = number.next()
        try await users[worker].send("hello \(next)", to: "user\(next % 8)")
      },
      Work(name: "streamed", workers: 4) { worker in
        let next = number.next()
        try await streams[worker].send("hello \(next)", to: "user\(next % 8)")
      },
      Work(name: "inboxes", workers: 1) { _ in
        _ = try await users[number.next() % 8].inboxPage()
      },
      Work(name: "streams", workers: 1) { _ in
        // A device connects, listens for a moment, and leaves.
        let device = "stream:visitor-\(number.next() % 50)"
        let user = try await msgr.login("visitor", password: "a password", device: device)
        let stream = try await user.stream()
        stream.close()
      },
      Work(name: "encrypted", workers: 4) { worker in
        let next = number.next()
        let to = devices[next % devices.count]
        guard to !== devices[worker] else { return }
        let message = try await devices[worker].seal(
          Array("hello \(next)".utf8) + [UInt8](repeating: 7, count: 500), to: to.user)
        try await devices[worker].send(message)
      },
      Work(name: "files", workers: 1) { _ in
        let device = devices[number.next() % devices.count]
        try await device.write([UInt8](repeating: 1, count: 20_000), to: file)
        _ = try await device.read(file)
      },
      Work(name: "sessions", workers: 1) { _ in
        // Another device of a user connects, searches, and leaves.
        let device = try visitor()
        let running = Task { try await device.run() }
        _ = try await device.user(devices[0].user)
        running.cancel()
        _ = await running.result
      },
    ]
  }

  /// Runs the load, and prints the rates and the server's memory.
  ///
  /// - Parameter seconds: the duration at half speed.
  /// - Returns: whether memory stayed level.
  func run(for seconds: Int) async throws -> Bool {
    let rates = try await measure()
    tell("at full speed, per second: \(text(rates))")
    let intervals = zip(works, rates).map { work, rate in
      Duration.seconds(2 * Double(work.workers) / max(rate, 0.1))
    }
    let start = ContinuousClock.now
    let end = start + .seconds(seconds)
    let working = Task { await self.work(until: end, every: intervals) }
    var memory: [Double] = []
    for line in 1...Self.lines {
      let before = done.withLock { $0 }
      let duration = Double(seconds) / Double(Self.lines)
      try await Task.sleep(until: start + .seconds(duration * Double(line)))
      let counts = zip(done.withLock { $0 }, before).map { Double($0 - $1) / duration }
      memory.append(Double(try server.residentBytes) / 1_048_576)
      tell(
        String(format: "%5.0f s  %6.1f MiB  ", duration * Double(line), memory[line - 1])
          + text(counts))
    }
    await working.value
    for reader in readers { reader.cancel() }
    let failures = failures.withLock { $0 }
    for failure in failures.prefix(10) { print("failed: \(failure)") }
    // The first quarter warms up what is pooled and cached.
    let early = median(memory[5..<10])
    let late = median(memory[15..<20])
    print(String(format: "second quarter %.1f MiB, last quarter %.1f MiB", early, late))
    return failures.isEmpty && late <= early * 1.1 + 4
  }

  private func measure() async throws -> [Double] {
    let end = ContinuousClock.now + .seconds(Self.measuring)
    await work(until: end, every: Array(repeating: .zero, count: works.count))
    return done.withLock { $0 }.map { Double($0) / Double(Self.measuring) }
  }

  private func work(until end: ContinuousClock.Instant, every intervals: [Duration]) async {
    await withTaskGroup { group in
      for (index, work) in works.enumerated() {
        for worker in 0..<work.workers {
          group.addTask {
            var next = ContinuousClock.now
            while next < end {
              do {
                try await work.step(worker)
              } catch {
                self.failures.withLock { $0.append("\(work.name): \(error)") }
                return
              }
              self.done.withLock { $0[index] += 1 }
              // A late worker continues from now and does not catch up.
              next = max(next + intervals[index], .now)
              if next > .now { try? await Task.sleep(until: next) }
            }
          }
        }
      }
    }
  }

  /// Prints a line at once, also into a pipe.
  private func tell(_ line: String) {
    print(line)
    fflush(nil)
  }

  private func text(_ rates: [Double]) -> String {
    zip(works, rates).map { "\($0.name) \(Int($1))" }.joined(separator: ", ")
  }

  private func median(_ values: ArraySlice<Double>) -> Double {
    values.sorted()[values.count / 2]
  }
}

/// A counter that many tasks share.
private final class Counter: Sendable {
  private let value = Atomic(0)

  func next() -> Int { value.wrappingAdd(1, ordering: .relaxed).newValue }
}
