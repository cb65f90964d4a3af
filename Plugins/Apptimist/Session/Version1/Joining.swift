internal import ApptimistProtocol
internal import Cryptography

/// The device has to show that it is the only user of its ephemeral key; then it may make an account, and has to log in.
struct JoiningState: ~Copyable {
  /// The subject of the open query.
  private enum Request {
    /// Whether the device is the first user of its ephemeral key; its first PDU waits for that.
    case claim(ReceivedFrame, QueryReply<Bool>)
    case registration(EncryptionPublicKey, QueryReply<ErrorCode>)
    indirect case login(PDU.Login, QueryReply<AccountCredentials?>)
    /// The login is valid: the key is being recorded as used, and the position at which the stream begins looked up.
    indirect case start(SessionUser, QueryReply<MailboxPosition?>)
  }

  private var channel: SessionChannel
  /// True once no other connection uses the same nonces; until then nothing is sent.
  private var isClaimed = false
  /// The account that was made on this connection, or nil if none was.
  private var registered: EncryptionPublicKey?
  private var request: Request?

  init(_ channel: consuming SessionChannel) { self.channel = channel }

  var isWaiting: Bool { request != nil }

  consuming func handle(
    _ event: SessionEvent, _ context: inout SessionContext
  ) throws(SessionEnd) -> SessionState {
    switch event {
    case .opened: context.actions.append(.wait(context.setup.limits.loginTime))
    case .received(let message) where !isWaiting:
      let frame = try channel.open(message, context.setup.limits)
      if isClaimed {
        try receive(frame, &context)
      } else {
        let reply = QueryReply<Bool>()
        request = .claim(frame, reply)
        context.perform(.claim(context.setup.ephemeralKey, reply))
      }
    case .replied: return try applyReply(&context)
    case .timedOut: guard case .start = request else { throw context.late() }
    case .evicted: throw .close(1008)
    case .draining(let uri?) where isClaimed: throw channel.redirect(to: uri, &context)
    case .draining, .ended: return .closed
    case .received, .news, .read: break
    }
    return .joining(self)
  }

  private mutating func receive(
    _ frame: ReceivedFrame, _ context: inout SessionContext
  ) throws(SessionEnd) {
    if let received = try frame.decoded(&context) { try begin(received.pdu, &context) }
    if !isWaiting { try channel.endIfWornOut(&context) }
  }

  private mutating func begin(_ pdu: PDU, _ context: inout SessionContext) throws(SessionEnd) {
    switch pdu {
    case .new(let new):
      // Under another form of a user's key a stranger could have the service box known text for that
      // user, whose other files the same nonce protects.
      guard let name = AccountName(new.name), let uid = new.uid.text,
        context.setup.isFit(new.key), new.key.isCanonical, !new.authenticationKey.isLowOrder,
        registered == nil || registered == new.key
      else { throw .refuse }
      let reply = QueryReply<ErrorCode>()
      request = .registration(new.key, reply)
      context.perform(.register(RequestedAccount(new, name: name, uid: uid), reply))
    case .login(let login):
      let reply = QueryReply<AccountCredentials?>()
      request = .login(login, reply)
      context.perform(.account(login.user, reply))
    default: if pdu.isStray { context.count(.ignored) }
    }
  }

  private consuming func applyReply(
    _ context: inout SessionContext
  ) throws(SessionEnd) -> SessionState {
    switch request.take() {
    case nil: break
    case .claim(let first, let reply):
      guard try reply.required() else { throw .close(1008) }
      self.isClaimed = true
      try receive(first, &context)
    case .registration(let key, let reply):
      guard try reply.required() == .done else { throw .refuse }
      registered = key
      try channel.endIfWornOut(&context)
    case .login(let login, let reply):
      guard let account = try reply.required(), !account.isForum, !account.isClosed,
        account.authenticationKey.verifies(login.signature, over: login.user)
      else { throw .refuse }
      let position = QueryReply<MailboxPosition?>()
      request = .start(
        SessionUser(key: login.user, authenticationKey: account.authenticationKey), position)
      let origin = StreamOrigin(
        user: login.user, ephemeralKey: context.setup.ephemeralKey, head: login.head,
        max: Int(login.max))
      context.perform(.start(origin, position))
    case .start(let user, let reply):
      guard let position = try reply.required() else { throw .close(1008) }
      try channel.endIfWornOut(&context)
      // Not before: a connection that is played again must not close the user's oldest session. What is
      // queued until now is read with all others.
      context.actions.append(.join(user.login))
      return .established(EstablishedState(channel, user, after: position, context.setup.limits))
    }
    return .joining(self)
  }
}
