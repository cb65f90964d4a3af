internal import HTTPProtocol
internal import ServiceKit
internal import Threading

extension ThreadPool {
  /// Runs a closure for a request.
  ///
  /// - Parameters:
  ///   - message: the message to the client if the queue is full.
  ///   - body: the work, which may block.
  /// - Returns: the closure's result.
  /// - Throws: ``HTTPError`` with status 503 if the queue is full; otherwise as ``ThreadPool/run(_:)``.
  func run<Value: Sendable>(
    orRefuseWith message: String, _ body: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    do { return try await run(body) } catch is Busy {
      throw HTTPError(.serviceUnavailable, message, retryAfter: 1)
    }
  }
}
