internal import Configuration
internal import Formats
internal import HTTPProtocol
internal import HTTPServer
internal import Observability
internal import Platform
internal import Routing
internal import ServiceKit
internal import Storage
internal import Transport

/// Waits at the start for a database that can't be reached yet, as after a power cut. Meanwhile load balancers see a
/// process that lives (`/healthz`) and isn't ready (`/readyz`), and clients are asked to come again.
struct DatabaseWait {
  private static let firstPause = Duration.seconds(1)
  private static let longestPause = Duration.seconds(10)
  /// A failure that stays the same is logged again after this time.
  private static let repetition = Duration.seconds(60)

  private let configuration: LoadedConfiguration
  private let log: Log
  private let manager: NotifySocket

  init(_ configuration: LoadedConfiguration, _ log: Log, _ manager: NotifySocket) {
    self.configuration = configuration
    self.log = log
    self.manager = manager
  }

  /// Opens the store, again and again while its database can't be reached.
  ///
  /// - Parameters:
  ///   - setWaiting: called with true before the first pause, and with false before the store is used.
  ///   - open: opens the store.
  /// - Throws: an error that no waiting mends.
  func open(
    whileWaiting setWaiting: (Bool) -> Void, _ open: () async throws -> ServiceRuntime
  ) async throws -> ServiceRuntime {
    let first: DatabaseAway
    do { return try await open() } catch let error as DatabaseAway { first = error }
    setWaiting(true)
    defer { setWaiting(false) }
    let server = try waitingServer()
    try server.start()
    let heartbeat = Task { [manager, loops = server.loops] in
      await manager.keepAlive(loops.map { loop in { reply in loop.execute(reply) } })
    }
    manager.notifyReady("waiting for the database")
    let result: Result<ServiceRuntime, any Error>
    do { result = .success(try await retry(after: first, open)) } catch { result = .failure(error) }
    heartbeat.cancel()
    await server.drain(within: .seconds(1))
    return try result.get()
  }

  private func retry(
    after failure: DatabaseAway, _ open: () async throws -> ServiceRuntime
  ) async throws -> ServiceRuntime {
    let start = ContinuousClock.now
    var failure = failure
    var pause = Self.firstPause
    var lastLine: (cause: String, time: ContinuousClock.Instant)?
    while true {
      let now = ContinuousClock.now
      if lastLine?.cause != failure.cause || now - (lastLine?.time ?? now) >= Self.repetition {
        log.warning(
          "the database can't be reached; awd waits for it",
          ["store": "\(configuration.server.store.place)", "cause": failure.cause])
        log.flush()
        lastLine = (failure.cause, now)
      }
      try await Task.sleep(for: pause)
      pause = min(pause * 2, Self.longestPause)
      do {
        let runtime = try await open()
        log.info("the database is reached", ["waited_ms": ContinuousClock.now - start])
        return runtime
      } catch let error as DatabaseAway { failure = error }
    }
  }

  private func waitingServer() throws -> WebServer {
    let server = configuration.server
    let credentials = try server.tls.map { tls throws(CommandError) in
      try CertificateFiles(for: "TLS", certificate: tls.certificate, key: tls.key).credentials
    }
    let options = try server.serverOptions(
      at: server.allListenAddresses, with: credentials, threads: 1)
    return try WebServer(options: options, responder: WaitingResponder()) { [log] in
      log.warning($0)
    }
  }
}

/// A database that can't be reached, for a reason that may pass.
struct DatabaseAway: Error {
  let cause: String

  /// Words in the messages of libpq and PostgreSQL that waiting doesn't change: a wrong name, right or configuration.
  private static let lasting = [
    "does not exist", "pg_hba.conf", "password", "authentication", "certificate", "SSL",
    "not permitted", "permission denied", "invalid connection option", "target_session_attrs",
  ]

  /// Makes the error of a failed connection.
  ///
  /// - Returns: nil if the error is of another kind, or one that stays until an operator mends it.
  init?(_ error: any Error) {
    guard let error = error as? StoreError, error.code == .ioError, !error.isOfDisk,
      !Self.lasting.contains(where: error.message.contains)
    else { return nil }
    cause = error.message
  }
}

/// Answers probes, and everything else with 503.
private struct WaitingResponder: Responder {
  func plan(for head: RequestHead, from origin: RequestOrigin) -> RequestPlan {
    switch String(decoding: head.path, as: UTF8.self) {
    case "/healthz": return .refuse(Response(.ok, type: "text/plain", text: "ok\n"))
    default:
      let text = "store: the database can't be reached; awd waits for it\n"
      var response = Response(.serviceUnavailable, type: "text/plain; charset=utf-8", text: text)
      response.fields.append(.retryAfter, "5")
      response.fields.append(.cacheControl, "no-store")
      return .refuse(response)
    }
  }
}
