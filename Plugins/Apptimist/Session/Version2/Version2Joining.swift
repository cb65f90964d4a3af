internal import ApptimistProtocol
internal import Cryptography
internal import HTTPProtocol

/// The device may make an account, and has to log in.
struct Version2Joining: ~Copyable {
  /// The subject of the open query.
  private enum Subject {
    case registration(EncryptionPublicKey, QueryReply<ErrorCode>)
    indirect case login(Version2.Login, QueryReply<AccountCredentials?>)
    indirect case start(AccountLogin, Version2.DeviceID, QueryReply<StreamStart?>)
  }

  private var link: Version2Link
  private let version2: Version2Setup
  /// The account that was made on this connection, or nil if none was.
  private var registered: EncryptionPublicKey?
  private var open: (subject: Subject, request: OpenRequest)?

  init(link: consuming Version2Link, _ version2: Version2Setup) {
    self.link = link
    self.version2 = version2
  }

  var isWaiting: Bool { open != nil }

  consuming func handle(
    _ event: SessionEvent, _ context: inout SessionContext
  ) throws(SessionEnd) -> SessionState {
    switch event {
    case .opened:
      link.greet(version2, &context)
      context.actions.append(.wait(context.setup.limits.loginTime))
      return .joiningVersion2(self)
    case .received(let message) where !isWaiting: return try received(message, &context)
    case .replied: return applyReply(&context)
    case .timedOut, .evicted: throw context.late()
    case .draining(let uri?): throw link.redirect(to: uri, &context)
    case .draining, .ended: return .closed
    case .received, .news, .read: return .joiningVersion2(self)
    }
  }

  private consuming func received(
    _ message: WebSocketMessage, _ context: inout SessionContext
  ) throws(SessionEnd) -> SessionState {
    do throws(SessionEnd) {
      return begin(try link.receive(message, &context), &context)
    } catch {
      guard case .refuse = error else { throw error }
      return .refused(RefusedState(link, nil, .done, &context))
    }
  }

  private consuming func begin(
    _ received: ReceivedRequest, _ context: inout SessionContext
  ) -> SessionState {
    let request = received.request
    switch received.body {
    case .new(let new):
      guard registered == nil || registered == new.key else {
        return refused(request, .noSuchType, &context)
      }
      do throws(ErrorCode) {
        let account = try link.account(new, token: received.data, isForum: false, context.setup)
        let reply = QueryReply<ErrorCode>()
        open = (.registration(new.key, reply), request)
        context.perform(.register(account, reply))
      } catch { return refused(request, error, &context) }
    case .login(let login):
      let fault = !received.data.isEmpty ? .badField : link.fault(login, context.setup)
      if let fault { return refused(request, fault, &context) }
      let reply = QueryReply<AccountCredentials?>()
      open = (.login(login, reply), request)
      context.perform(.account(login.user, reply))
    default: link.answer(request, .noSuchType, &context)
    }
    return .joiningVersion2(self)
  }

  private consuming func applyReply(_ context: inout SessionContext) -> SessionState {
    guard let (subject, request) = open.take() else { return .joiningVersion2(self) }
    switch subject {
    case .registration(let key, let reply):
      let outcome = reply.value ?? .internalError
      guard outcome == .done else { return refused(request, outcome, &context) }
      registered = key
      link.answer(request, .done, &context)
      return .joiningVersion2(self)
    case .login(let login, let reply):
      guard let found = reply.value else { return refused(request, .internalError, &context) }
      guard let account = found else { return refused(request, .notFound, &context) }
      guard !account.isForum else { return refused(request, .notPermitted, &context) }
      guard link.isSigned(login, by: account.authenticationKey) else {
        return refused(request, .wrongProof, &context)
      }
      let key = account.authenticationKey
      let start = QueryReply<StreamStart?>()
      let accountLogin = AccountLogin(
        user: login.user, authenticationKey: key, isVersion1: false)
      open = (.start(accountLogin, login.device, start), request)
      context.perform(.begin(StreamRequest(login, authenticationKey: key), start))
      return .joiningVersion2(self)
    case .start(let login, let device, let reply):
      guard let found = reply.value else { return refused(request, .internalError, &context) }
      guard let beginning = found else { return refused(request, .wrongProof, &context) }
      // Before the answer: what is queued until now is read with all others.
      context.actions.append(.join(login))
      link.answer(request, .success(.login(Version2.Start(beginning))), &context)
      return .establishedVersion2(
        Version2Established(link, login, device, beginning, context.setup.limits))
    }
  }

  private consuming func refused(
    _ request: OpenRequest, _ error: ErrorCode, _ context: inout SessionContext
  ) -> SessionState { .refused(RefusedState(link, request, error, &context)) }
}

extension Version2.Start {
  fileprivate init(_ beginning: StreamStart) {
    self.init(
      epoch: beginning.epoch, first: UInt64(bitPattern: beginning.first.rawValue),
      last: UInt64(bitPattern: beginning.last.rawValue),
      start: UInt64(bitPattern: beginning.start.rawValue),
      flags: beginning.isClosed ? .closed : [])
  }
}
