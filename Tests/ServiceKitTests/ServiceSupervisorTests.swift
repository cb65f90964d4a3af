internal import Configuration
internal import Observability
internal import Routing
internal import ServiceKit
internal import TestSupport
internal import Testing
internal import Platform

/// A service that fails as often as its script says, and then works until cancelled.
private final class Failing: Running, Reloading {
  struct Configuration: ServiceConfiguration {
    init(_ section: ConfigurationSection) {}
  }

  static let name = "failing"

  struct Failure: Error {}
  private let failures: Lock<Int>
  private let working: AsyncStream<Void>.Continuation?

  init(_ context: ServiceContext, _ configuration: Configuration) {
    failures = Lock(0)
    working = nil
  }

  init(failures: Int, working: AsyncStream<Void>.Continuation) {
    self.failures = Lock(failures)
    self.working = working
  }

  func register(on router: inout Router) {}

  func run() async throws {
    let fails = failures.withLock { failures in
      failures -= 1
      return failures >= 0
    }
    if fails { throw Failure() }
    working?.yield()
    // Works until it is cancelled; no test waits for the hour's end.
    try await Task.sleep(for: .seconds(3600))
  }

  func reload() async throws { throw Failure() }
}

@Suite(.ownThreads) struct ServiceSupervisorTests {
  private final class Pauses: Sendable {
    let taken = Lock<[Duration]>([])
  }

  @Test func failedWorkIsTakenUpAgainMoreAndMoreSlowly() async {
    let (works, continuation) = AsyncStream.makeStream(of: Void.self)
    let pauses = Pauses()
    let supervisor = ServiceSupervisor(
      [Failing(failures: 8, working: continuation)], log: Log(level: .error, descriptor: -1)
    ) { pause in
      pauses.taken.withLock { $0.append(pause) }
    }
    #expect(supervisor.failure(of: "failing") == nil)
    let running = Task { await supervisor.run() }
    for await _ in works { break }
    #expect(
      pauses.taken.withLock { $0 } == [1, 2, 4, 8, 16, 32, 60, 60].map { Duration.seconds($0) })
    running.cancel()
    await running.value
  }

  @Test func aFailureIsReportedUntilTheRestartedWorkHasRunForSomeTime() async {
    let (works, continuation) = AsyncStream.makeStream(of: Void.self)
    let start = ContinuousClock.now
    let passed = Lock(Duration.zero)
    let supervisor = ServiceSupervisor(
      [Failing(failures: 1, working: continuation)], log: Log(level: .error, descriptor: -1),
      sleep: { _ in }, now: { start + passed.withLock { $0 } })
    let running = Task { await supervisor.run() }
    for await _ in works { break }
    #expect(supervisor.failure(of: "failing") != nil)
    passed.withLock { $0 = .seconds(9) }
    #expect(supervisor.failure(of: "failing") != nil)
    passed.withLock { $0 = .seconds(10) }
    #expect(supervisor.failure(of: "failing") == nil)
    running.cancel()
    await running.value
  }

  @Test func aFailureIsReportedWhileTheWorkPauses() async {
    let (pausing, continuation) = AsyncStream.makeStream(of: Void.self)
    let (works, working) = AsyncStream.makeStream(of: Void.self)
    _ = works
    let supervisor = ServiceSupervisor(
      [Failing(failures: 1, working: working)], log: Log(level: .error, descriptor: -1)
    ) { _ in
      continuation.yield()
      // Stands for a pause that is still on when the test ends it.
      try await Task.sleep(for: .seconds(3600))
    }
    let running = Task { await supervisor.run() }
    for await _ in pausing { break }
    #expect(supervisor.failure(of: "failing") != nil)
    running.cancel()
    await running.value
  }

  @Test func reloadTellsWhetherAllCould() async {
    let (_, working) = AsyncStream.makeStream(of: Void.self)
    let log = Log(level: .error, descriptor: -1)
    #expect(await !ServiceSupervisor([Failing(failures: 0, working: working)], log: log).reload())
    #expect(await ServiceSupervisor([], log: log).reload())
  }
}
