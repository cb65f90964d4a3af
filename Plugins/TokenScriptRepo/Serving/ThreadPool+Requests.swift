internal import Formats
internal import HTTPProtocol
internal import Routing
internal import Platform

extension ThreadPool {
  /// Runs a closure for a request, when it is its network's turn.
  ///
  /// - Parameters:
  ///   - network: the network that the request is charged to.
  ///   - message: the message to the client if the queue is full.
  ///   - body: the work, which may block.
  /// - Returns: the closure's result.
  /// - Throws: ``HTTPError`` with status 503 if the queue is full, and no network has more in it; otherwise as
  ///   ``ThreadPool/run(for:_:)``.
  func run<Value: Sendable>(
    for network: ClientNetwork?, orRefuseWith message: String,
    _ body: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    do { return try await run(for: network, body) } catch is Busy {
      throw HTTPError(.serviceUnavailable, message, retryAfter: 1)
    }
  }
}
