internal import Formats
internal import Budgets
internal import Cryptography
internal import Glibc
internal import HTTPProtocol
internal import Platform
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
  /// The places of connections.
  let places: Budget<ClientNetwork>
  /// The memory that peers make the server take.
  let memory: Budget<ClientNetwork>
  private let memoryShare: Int
  private let placeShare: Int
  private let onReport: @Sendable (String) -> Void
  private let lastReport = Lock<[String: Int]>([:])

  init(
    options: ServerOptions, responder: any Responder,
    report: @escaping @Sendable (String) -> Void
  ) throws(TLSError) {
    tls = try options.credentials.map(TLSIdentity.init)
    var limits = RequestParser.Limits()
    limits.head = options.head
    (self.limits, self.options, self.responder) = (limits, options, responder)
    let connections = min(options.connections, ServerCore.descriptors)
    placeShare = options.connectionsPerAddress ?? max(1, connections / 4)
    places = Budget(capacity: connections, share: placeShare, loss: .idlest)
    memoryShare = options.memoryPerOwner ?? options.memory / 4
    memory = Budget(capacity: options.memory, share: memoryShare)
    minimumRate = MinimumRate(bytesPerSecond: options.minimumRate, grace: options.rateGrace)
    onReport = report
  }

  /// The number of descriptors that connections may have: others are left for files and for connections that end. With more
  /// places than descriptors newcomers would wait in the kernel's queue, and no owner would lose a place to them.
  private static var descriptors: Int {
    var limit = rlimit()
    guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
      return .max
    }
    let all = Int(clamping: limit.rlim_cur)
    return max(1, all - min(all / 4, 512))
  }

  /// Returns the refusal of memory: 429 if the owner has its share, 503 if the server has no more.
  func refusal(of charge: MemoryCharge?) -> RequestFailure {
    if let charge, let owner = charge.owner,
      memory.held(by: owner) + charge.missing > memoryShare
    {
      return RequestFailure(.tooManyRequests, "the client has its share of the memory")
    }
    return RequestFailure(.serviceUnavailable, "no memory is left for request bodies")
  }

  /// Returns the refusal of a place for a WebSocket.
  func placeRefusal(of client: ClientNetwork?) -> RequestFailure {
    if let client, places.held(by: client) >= placeShare {
      return RequestFailure(.tooManyRequests, "the client has its share of the connections")
    }
    return RequestFailure(.serviceUnavailable, "no place is left for connections")
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
