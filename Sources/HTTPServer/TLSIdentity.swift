internal import Cryptography
internal import Glibc
internal import Platform
internal import Transport

/// The credentials that a server shows to its TLS clients, which can be replaced while it serves.
final class TLSIdentity: Sendable {
  private struct State {
    var credentials: TLSCredentials
    var context: TLSContext
    var madeAt: Int
  }

  /// The time that a context is used, in seconds. Each has ticket keys of its own, so that recorded traffic can't be
  /// read with keys that are stolen later.
  private static let lifetime = 12 * 3600

  private let state: Lock<State>

  init(_ credentials: TLSCredentials) throws(TLSError) {
    state = Lock(
      State(credentials: credentials, context: try .server(credentials), madeAt: time(nil)))
  }

  /// The context for a new connection.
  var context: TLSContext {
    let now = time(nil)
    return state.withLock { state in
      if now - state.madeAt > TLSIdentity.lifetime,
        let next = try? TLSContext.server(state.credentials)
      {
        state.context = next
        state.madeAt = now
      }
      return state.context
    }
  }

  /// The credentials in use.
  var credentials: TLSCredentials { state.withLock { $0.credentials } }

  /// Uses other credentials for connections that come from now on.
  func replace(by credentials: TLSCredentials) throws(TLSError) {
    let context = try TLSContext.server(credentials)
    state.withLock { $0 = State(credentials: credentials, context: context, madeAt: time(nil)) }
  }
}
