internal import COpenSSL
internal import Cryptography
internal import Formats
internal import Glibc
internal import HTTPProtocol
internal import Platform
internal import Transport

/// The credentials that a server shows to its TLS clients, which can be replaced while it serves.
final class TLSIdentity: Sendable {
  private struct State {
    var credentials: TLSCredentials
    var context: TLSContext
    /// The moment from which the context is to be replaced, in seconds of the system's clock.
    var renewal: Int
    var isRenewing = false
  }

  /// The time that a context is used, in seconds. Each has ticket keys of its own, so that recorded traffic can't be
  /// read with keys that are stolen later.
  private static let lifetime = 12 * 3600
  /// The time after which a failed renewal is tried again, in seconds.
  private static let retryInterval = 60

  private let state: Lock<State>
  private let report: @Sendable (String) -> Void

  init(
    _ credentials: TLSCredentials, report: @escaping @Sendable (String) -> Void
  ) throws(TLSError) {
    state = Lock(try Self.state(for: credentials))
    self.report = report
  }

  private static func state(for credentials: TLSCredentials) throws(TLSError) -> State {
    State(
      credentials: credentials, context: try .server(credentials), renewal: time(nil) + lifetime)
  }

  /// The context for a new connection. One that is due is renewed by a task: making one parses certificates and
  /// keys, for which no event loop waits.
  var context: TLSContext {
    let now = time(nil)
    let (context, credentials) = state.withLock { state in
      let isDue = now >= state.renewal && !state.isRenewing
      if isDue { state.isRenewing = true }
      return (state.context, isDue ? state.credentials : nil)
    }
    if let credentials { Task { renew(with: credentials) } }
    return context
  }

  /// The credentials in use.
  var credentials: TLSCredentials { state.withLock { $0.credentials } }

  /// Uses other credentials for connections that come from now on.
  func replace(by credentials: TLSCredentials) throws(TLSError) {
    let next = try Self.state(for: credentials)
    // The former state leaves the lock, which each new connection takes, before its context is freed.
    _ = state.withLock { state in
      let former = state
      state = next
      return former
    }
  }

  private func renew(with credentials: TLSCredentials) {
    do throws(TLSError) {
      let next = try Self.state(for: credentials)
      // As in `replace(by:)`, the former context is freed outside.
      _ = state.withLock { state -> State? in
        // Credentials that were replaced meanwhile have a new context already.
        guard state.isRenewing else { return nil }
        let former = state
        state = next
        return former
      }
    } catch {
      let renewal = time(nil) + Self.retryInterval
      state.withLock { state in
        state.renewal = renewal
        state.isRenewing = false
      }
      report("keys of TLS session tickets could not be renewed; the old ones stay: \(error)")
    }
  }
}

extension TLSContext {
  /// Cipher suites of TLS 1.2: forward secrecy and authenticated encryption only, none that RFC 9113 appendix A forbids.
  private static let ciphers =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"
    + "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305:"
    + "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384"

  /// Cipher suites of TLS 1.3.
  private static let suites =
    "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_256_GCM_SHA384"

  /// Names of the protocols in the order of preference, each behind its length (RFC 7301 section 3.1).
  private static let protocols: StaticString = "\u{2}h2\u{8}http/1.1"

  /// A context that shows credentials.
  ///
  /// - Throws: ``TLSError`` when OpenSSL doesn't take the credentials.
  static func server(_ credentials: TLSCredentials) throws(TLSError) -> TLSContext {
    guard let context = unsafe TLSContext(TLS_server_method()),
      unsafe SSL_CTX_set_cipher_list(context.pointer, ciphers) == 1,
      unsafe SSL_CTX_set_ciphersuites(context.pointer, suites) == 1,
      unsafe copenssl_set_groups(context.pointer, "X25519:P-256:P-384") == 1
    else { throw .refused(TLSCredentials.reason) }
    unsafe SSL_CTX_set_options(context.pointer, copenssl_server_options)
    // An idle connection holds no record buffers.
    unsafe copenssl_set_mode(context.pointer, Int(SSL_MODE_RELEASE_BUFFERS))
    // Sessions are resumed by tickets, which cost the server no memory.
    unsafe copenssl_set_session_cache(context.pointer, Int(SSL_SESS_CACHE_OFF))
    unsafe SSL_CTX_set_session_id_context(context.pointer, "awd", 3)
    unsafe SSL_CTX_set_alpn_select_cb(context.pointer, select, nil)
    try unsafe credentials.install(in: context.pointer)
    return context
  }

  /// Chooses the protocol; a client that names protocols, none of which is served, is refused (RFC 7301 section 3.2).
  private static let select: SSL_CTX_alpn_select_cb_func = {
    _, output, length, offered, count, _ in
    var chosen: UnsafeMutablePointer<UInt8>?
    let result = unsafe SSL_select_next_proto(
      &chosen, length, protocols.utf8Start, UInt32(protocols.utf8CodeUnitCount), offered, count)
    guard result == OPENSSL_NPN_NEGOTIATED else { return SSL_TLSEXT_ERR_ALERT_FATAL }
    unsafe output?.pointee = UnsafePointer(chosen)
    return SSL_TLSEXT_ERR_OK
  }
}

/// A connection whose TLS handshake is under way: nothing is understood yet, and time is short.
final class TLSHandshake: ServedProtocol {
  /// The connection releases this object when it ends, which breaks the cycle.
  private let connection: Connection
  private let peer: Peer
  private let server: ServerLoop
  private let deadline: Int64

  init(_ connection: Connection, _ peer: Peer, _ server: ServerLoop) {
    self.connection = connection
    self.peer = peer
    self.server = server
    deadline = connection.loop.now(after: server.core.options.headerTimeout)
  }

  func received(_ input: RawSpan) {}

  func secured() {
    guard connection.tls?.speaks("h2") == true else {
      return connection.become(HTTP1Connection(connection, peer, server))
    }
    guard let http2 = HTTP2Connection(connection, peer, server) else { return connection.abort() }
    connection.become(http2)
  }

  func tlsFailed(_ failure: TLSFailure) {
    guard failure == .plainRequest, let tls = connection.tls else { return }
    // It goes out as it is: nothing of this session is sealed any more.
    let text = "The plain HTTP request was sent to the HTTPS port.\n"
    Response(.badRequest, type: "text/plain", text: text).serializeHead(
      into: &tls.output, date: server.dateLine, keepAlive: false, version10: false,
      headOnly: false)
    tls.output += text.utf8
  }

  func peerEnded() { connection.finish() }

  func drained() {}

  func tick() { if connection.loop.now > deadline { connection.cut() } }

  func drain() { connection.abort() }

  func lostMemory(of owner: ClientNetwork?) { connection.abort() }

  func ended() {}
}

/// Lets TLS handshakes of one loop begin, for which sites and the networks of each take turns.
///
/// A handshake costs its client a copy of an old greeting, and the server a signature. So a few begin in a turn of the loop,
/// and a newcomer waits for one of each network, however many connections another one opens.
final class HandshakeTurns {
  /// The number of handshakes that begin in one turn: some milliseconds of work.
  private static let limit = 8

  private let loop: EventLoop
  private var waiting = FairQueue<ConnectionID>(limit: .max)
  private var timer: LoopTimer?
  /// The moment of the turn, and the number of handshakes that have begun in it.
  private var turn: (now: Int64, begun: Int) = (0, 0)

  init(on loop: EventLoop) {
    self.loop = loop
    timer = LoopTimer(on: loop) { [unowned self] in runTurn() }
  }

  /// Takes a connection that has just begun to read, and lets it wait for its turn if too many have begun.
  ///
  /// - Parameters:
  ///   - connection: the connection, which hasn't been read yet.
  ///   - network: the network that the handshake counts for.
  func begin(_ connection: Connection, for network: ClientNetwork?) {
    if turn.now != loop.now { turn = (loop.now, 0) }
    guard turn.begun >= HandshakeTurns.limit || waiting.count > 0 else {
      turn.begun += 1
      return
    }
    connection.pauseReading()
    if waiting.count == 0 { timer?.start(after: .milliseconds(1)) }
    // Without a limit none is refused.
    _ = waiting.append(connection.id, for: WorkOwner(client: network))
  }

  private func runTurn() {
    turn = (loop.now, 0)
    while turn.begun < HandshakeTurns.limit, let id = waiting.popFirst() {
      guard let connection = loop.connection(id) else { continue }
      turn.begun += 1
      connection.resumeReading()
    }
    if waiting.count > 0 { timer?.start(after: .milliseconds(1)) }
  }

  /// Stops for good.
  func close() {
    timer?.close()
    timer = nil
  }
}
