internal import Formats
internal import HTTPProtocol
internal import Platform

/// The queue of the files that clients send to be verified, and a few threads that give way to others.
///
/// Short files, as nearly all are, have threads of their own: a long one takes hundreds of times as long.
struct VerificationQueue: Sendable {
  /// The largest body in bytes: a file of the largest size, with its frame.
  static let bodyLimit = 8 << 20
  /// The largest body of a short file in bytes; real files have 300 KB at most.
  static let shortLimit = 512 << 10

  private let short: ThreadPool
  private let long: ThreadPool

  /// Makes an empty queue.
  init(named name: String) {
    short = ThreadPool(named: name, width: Processors.count - 1, queue: 64, niceness: 5)
    long = ThreadPool(named: name, width: Processors.count - 1, queue: 16, niceness: 15)
  }

  /// Works on a file when it is its network's turn.
  ///
  /// - Parameters:
  ///   - size: the number of bytes of the file, or nil if it is the request's body.
  /// - Returns: the result of the work.
  /// - Throws: ``HTTPError`` with status 503 if too many files wait; the error of the work.
  func run<Value: Sendable>(
    for request: Request, size: Int? = nil, _ work: @escaping @Sendable ([UInt8]) throws -> Value
  ) async throws -> Value {
    let body = request.body
    let threads = size ?? body.count <= Self.shortLimit ? short : long
    return try await threads.run(
      for: request.origin.client, orRefuseWith: "too many files are being verified"
    ) { try work(body) }
  }
}

extension ThreadPool {
  /// Runs a closure for a request, when it is its network's turn.
  ///
  /// - Parameters:
  ///   - message: the message to the client if the queue is full.
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
