package import Observability
internal import Platform

/// Runs the background work of all services, and reloads them.
///
/// After a failure the work is started again after a pause of 1 s at first, which doubles each time up to 1 min.
/// Meanwhile requests that need no background work are still answered, other services go on, and `/readyz` reports the
/// failure.
package final class ServiceSupervisor: Sendable {
  private static let firstPause = Duration.seconds(1)
  private static let longestPause = Duration.seconds(60)

  private let services: [(name: String, service: any Service)]
  private let log: Log
  private let sleep: @Sendable (Duration) async throws -> Void
  private let failing = Lock<[String: String]>([:])

  /// Makes a supervisor. Nothing runs before ``run()``.
  ///
  /// - Parameters:
  ///   - services: the services that are switched on.
  ///   - log: takes the failures.
  ///   - sleep: waits before a service's work is started again, and throws when cancelled.
  package init(
    _ services: [any Service], log: Log,
    sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
  ) {
    self.services = services.map { (type(of: $0).name, $0) }
    (self.log, self.sleep) = (log, sleep)
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

  /// Returns the reason why a service's background work pauses, or nil if it doesn't.
  ///
  /// - Parameter service: the service's name.
  package func failure(of service: String) -> String? { failing.withLock { $0[service] } }

  private func run(_ service: any Running, named name: String) async {
    var pause = Self.firstPause
    while !Task.isCancelled {
      let start = ContinuousClock.now
      do {
        return try await service.run()
      } catch {
        if Task.isCancelled { return }
        if ContinuousClock.now - start > Self.longestPause { pause = Self.firstPause }
        log.error(
          "background work failed",
          ["service": name, "cause": "\(error)", "again_in_ms": pause])
        failing.withLock { $0[name] = "its background work failed and will be started again" }
        do { try await sleep(pause) } catch { return }
        _ = failing.withLock { $0.removeValue(forKey: name) }
        pause = min(pause * 2, Self.longestPause)
      }
    }
  }
}
