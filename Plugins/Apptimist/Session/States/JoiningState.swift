internal import ApptimistProtocol
internal import Cryptography

/// The device is the only user of its ephemeral key; it may make an account, and has to log in.
struct JoiningState: ~Copyable {
  /// The subject of the open query.
  private enum Request {
    case registration(EncryptionPublicKey)
    indirect case login(PDU.Login)
  }

  var channel: SessionChannel
  /// The account that was made on this connection, or nil if none was.
  private var registered: EncryptionPublicKey?
  private var request: Request?

  init(_ claiming: consuming ClaimingState) { channel = claiming.channel }

  var isWaiting: Bool { request != nil }

  consuming func handle(
    _ event: SessionEvent, _ context: inout SessionContext
  ) throws(SessionEnd) -> SessionState {
    switch event {
    case .received(let message) where !isWaiting:
      let frame = try channel.open(message, context.setup.limits)
      return try take(frame, &context)
    case .replied(let reply): return try take(reply, &context)
    case .timedOut: throw context.late()
    case .evicted: throw .close(1008)
    case .draining(let uri?): throw channel.redirect(to: uri, &context)
    case .draining, .ended: return .closed
    case .opened, .received, .news, .read: return .joining(self)
    }
  }

  /// Takes a frame that came.
  consuming func take(
    _ frame: ReceivedFrame, _ context: inout SessionContext
  ) throws(SessionEnd) -> SessionState {
    if let received = try frame.decoded(&context) { try take(received.pdu, &context) }
    if !isWaiting { try channel.endIfWornOut(&context) }
    return .joining(self)
  }

  private mutating func take(_ pdu: PDU, _ context: inout SessionContext) throws(SessionEnd) {
    switch pdu {
    case .new(let new):
      // Under another form of a user's key a stranger could have the service box known text for that
      // user, whose other files the same nonce protects.
      guard let name = AccountName(new.name), let uid = new.uid.text,
        context.setup.isFit(new.key), new.key.isCanonical, !new.authenticationKey.isLowOrder,
        registered == nil || registered == new.key
      else { throw .refuse }
      request = .registration(new.key)
      context.ask(.register(NewAccount(new, name: name, uid: uid)))
    case .login(let login):
      request = .login(login)
      context.ask(.authenticationKey(of: login.user))
    default: if pdu.isStray { context.count(.ignored) }
    }
  }

  private consuming func take(
    _ reply: Reply, _ context: inout SessionContext
  ) throws(SessionEnd) -> SessionState {
    switch (request.take(), reply) {
    case (nil, _): return .joining(self)
    case (.registration(let key), .registered(true)):
      registered = key
      try channel.endIfWornOut(&context)
      return .joining(self)
    case (.registration, .registered(false)): throw .refuse
    case (.login(let login), .authenticationKey(let key)):
      guard let key, key.verifies(login.signature, over: login.user) else { throw .refuse }
      let user = SessionUser(key: login.user, authenticationKey: key)
      return .starting(StartingState(self, user, login, &context))
    default: throw .close(1011)
    }
  }
}
