package import Observability

/// A service that works in the background while requests are served.
package protocol Running: Service {
  /// Works until the task is cancelled.
  ///
  /// It returns if there is nothing (more) to do. After an error, which is logged and shown by `/readyz`, it is called
  /// again after a pause that grows from 1 s to 1 min.
  func run() async throws
}

extension Running {
  /// Does work again and again until the task is cancelled.
  ///
  /// - Parameters:
  ///   - interval: the time between the end of the work and its next beginning; after a failure 5 s, if that is less.
  ///   - failure: the words that are logged with the cause of a failure.
  ///   - log: the log of the service.
  ///   - work: the work.
  package static func repeatWork(
    every interval: Duration, orLog failure: String, in log: Log,
    _ work: () async throws -> Void
  ) async {
    while !Task.isCancelled {
      var pause = interval
      do { try await work() } catch {
        log.warning(failure, ["cause": "\(error)"])
        pause = min(interval, .seconds(5))
      }
      try? await Task.sleep(for: pause)
    }
  }
}
