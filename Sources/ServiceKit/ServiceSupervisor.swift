package import Observability

internal import Platform

/// Runs the background work of all services, and reloads them.
///
/// After a failure the work is started again after a pause of 1 s at first, which doubles each time up to 1 min.
/// Meanwhile requests that need no background work are still answered, and other services go on. `/readyz` reports the
/// failure until the restarted work has run for as long as the next pause would be, at least 10 s: work that fails again
/// and again doesn't make it change to and fro.
package final class ServiceSupervisor: Sendable {
  private static let firstPause = Duration.seconds(1)
  private static let longestPause = Duration.seconds(60)
  private static let shortestProbation = Duration.seconds(10)

  private struct Failure {
    /// The moment at which the work was started again; nil while it pauses.
    var restart: ContinuousClock.Instant?
    /// The time that the restarted work has to run until it counts as mended.
    var probation = Duration.zero
  }

  private let services: [(name: String, service: any Service)]
  private let log: Log
  private let sleep: @Sendable (Duration) async throws -> Void
  private let now: @Sendable () -> ContinuousClock.Instant
  private let failing = Lock<[String: Failure]>([:])

  /// Makes a supervisor. Nothing runs before ``run()``.
  ///
  /// - Parameter sleep: waits before a service's work is started again, and throws when cancelled.
  package init(
    _ services: [any Service], log: Log,
    sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) {
    self.services = services.map { (type(of: $0).name, $0) }
    self.log = log
    self.sleep = sleep
    self.now = now
  }

  /// Runs the services until cancelled, or until none has anything left to do.
  package func run() async {
    await withTaskGroup { group in
      for (name, service) in services {
        guard let service = service as? any Running else { continue }
        group.addTask { await self.run(service, named: name) }
      }
    }
  }

  /// Reloads each service. One that fails keeps its old state.
  ///
  /// - Returns: whether all succeeded.
  package func reload() async -> Bool {
    var isComplete = true
    for (name, service) in services {
      do {
        try await (service as? any Reloading)?.reload()
      } catch {
        isComplete = false
        log.error("reload refused, the old state stays", ["service": name, "cause": "\(error)"])
      }
    }
    return isComplete
  }

  /// Returns the reason why a service isn't ready, or nil if its background work goes on.
  package func failure(of service: String) -> String? {
    guard let failure = failing.withLock({ $0[service] }) else { return nil }
    guard let restart = failure.restart else {
      return "its background work failed and will be started again"
    }
    guard now() - restart < failure.probation else { return nil }
    return "its background work failed and was started again just now"
  }

  private func run(_ service: any Running, named name: String) async {
    var pause = Self.firstPause
    while !Task.isCancelled {
      let start = now()
      do {
        try await service.run()
        _ = failing.withLock { $0.removeValue(forKey: name) }
        return
      } catch {
        if Task.isCancelled { return }
        if now() - start > Self.longestPause { pause = Self.firstPause }
        log.error(
          "background work failed",
          ["service": name, "cause": "\(error)", "again_in_ms": pause])
        failing.withLock { $0[name] = Failure() }
        do { try await sleep(pause) } catch { return }
        pause = min(pause * 2, Self.longestPause)
        let probation = max(pause, Self.shortestProbation)
        let restart = now()
        failing.withLock { $0[name] = Failure(restart: restart, probation: probation) }
      }
    }
  }
}
