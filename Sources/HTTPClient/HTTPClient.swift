internal import Synchronization

/// Sends requests to other servers, over HTTP/2 where they speak it (by ALPN), else over HTTP/1.1.
///
/// Many requests may be under way at once; those to one host share connections. Redirects are not
/// followed, cookies not kept, content codings not undone, and proxies of the environment not used.
public final class HTTPClient: Sendable {
  private let driver: TransferDriver
  private let lastID = Atomic<UInt64>(0)

  /// A client with a thread and connections of its own, which end with it.
  ///
  /// - Parameter options: limits, times, and certificates.
  /// - Throws: `.outOfResources`.
  public init(_ options: HTTPClientOptions = HTTPClientOptions()) throws(HTTPClientError) {
    driver = try TransferDriver(options)
  }

  deinit { driver.stop() }

  /// Sends a request and waits for the whole response.
  ///
  /// - Parameter request: the request.
  /// - Returns: the response, whatever its status.
  /// - Throws: ``HTTPClientError``; `.cancelled` if the task is cancelled meanwhile, which ends the
  ///   exchange. Except for `.invalidRequest`, `.unknownHost` and `.notConnected`, the server may
  ///   have acted on the request.
  public nonisolated(nonsending) func send(
    _ request: OutgoingRequest
  ) async throws(HTTPClientError) -> IncomingResponse {
    let id = lastID.wrappingAdd(1, ordering: .relaxed).newValue
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        driver.begin(id, request) { continuation.resume(returning: $0) }
        // If the handler has run before, it found nothing to cancel.
        if Task.isCancelled { driver.cancel(id) }
      }
    } onCancel: {
      driver.cancel(id)
    }
    return try result.get()
  }
}
