internal import Cryptography
internal import Glibc
internal import HTTPProtocol
internal import Synchronization
internal import Threading
internal import Transport

/// The part of a server that all its loops share: options, credentials and budgets.
final class ServerCore: Sendable {
  let options: ServerOptions
  let responder: any Responder
  /// The identity that is shown to TLS clients; nil without credentials.
  let tls: TLSIdentity?
  /// The limits of a request.
  let limits: RequestParser.Limits
  /// The rate at which peers must read and write.
  let minimumRate: MinimumRate
  private let loops: [EventLoop]
  /// The number of bytes of request bodies that are held, or promised by a `Content-Length`.
  private let bodyBytes = Atomic<Int>(0)
  /// The number of bytes of WebSocket messages that are unfinished or wait to be taken.
  private let messageBytes = Atomic<Int>(0)
  private let onReport: @Sendable (String) -> Void
  private let lastReport = Lock<[String: Int]>([:])

  init(
    options: ServerOptions, responder: any Responder, loops: [EventLoop],
    report: @escaping @Sendable (String) -> Void
  ) throws(TLSError) {
    tls = try options.credentials.map(TLSIdentity.init)
    var limits = RequestParser.Limits()
    limits.head = options.head
    self.limits = limits
    self.options = options
    self.responder = responder
    self.loops = loops
    minimumRate = MinimumRate(bytesPerSecond: options.minimumRate, grace: options.rateGrace)
    onReport = report
  }

  /// Whether another connection may be opened.
  var hasRoom: Bool {
    loops.reduce(0) { $0 + $1.statistics.open.value } < options.connections
  }

  /// Reserves memory for a body, which ``releaseBody(_:)`` gives back.
  ///
  /// - Parameters:
  ///   - count: the number of bytes that the body needs in all.
  ///   - reserved: the number of bytes that are reserved for it.
  func reserveBody(_ count: Int, reserved: inout Int) throws(RequestFailure) {
    guard count > reserved else { return }
    let after = bodyBytes.add(count - reserved, ordering: .relaxed).newValue
    guard after <= options.bodyMemory else {
      bodyBytes.subtract(count - reserved, ordering: .relaxed)
      throw RequestFailure(.serviceUnavailable, "too many request bodies are held")
    }
    reserved = count
  }

  func releaseBody(_ reserved: Int) {
    if reserved > 0 { bodyBytes.subtract(reserved, ordering: .relaxed) }
  }

  /// Counts the memory that a connection's messages take more than before, or less.
  ///
  /// - Returns: whether there was room for that.
  func countMessages(_ change: Int) -> Bool {
    let after = messageBytes.add(change, ordering: .relaxed).newValue
    return change <= 0 || after <= options.messageMemory
  }

  /// Reports a warning, each at most once a minute: a flood must not fill the log too.
  func report(_ message: String) {
    let now = time(nil)
    let isDue = lastReport.withLock { last in
      if let before = last[message], now - before < 60 { return false }
      last[message] = now
      return true
    }
    if isDue { onReport(message) }
  }
}
