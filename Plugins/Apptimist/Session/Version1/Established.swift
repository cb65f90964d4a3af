internal import ApptimistProtocol
internal import Cryptography
internal import HTTPProtocol

/// The user is logged in, and the stream goes on from its cursor.
struct EstablishedState: ~Copyable, StreamState {
  var channel: SessionChannel
  var user: SessionUser
  var cursor: StreamCursor
  /// The subject of the open query, or nil if none is open.
  var request: UserRequest?

  init(
    _ channel: consuming SessionChannel, _ user: SessionUser, after start: MailboxPosition,
    _ limits: SessionLimits
  ) {
    self.channel = channel
    self.user = user
    cursor = StreamCursor(after: start, ownLimit: limits.ownEntries)
  }

  var making: StreamMaking? {
    switch request {
    case .posts(let posting): .posts(posting.posts)
    case .truncation(let id, _): .truncation(id)
    default: nil
    }
  }

  mutating func send(_ entry: MailboxEntry, _ context: inout SessionContext) throws(SessionEnd) {
    switch entry.content {
    case .message(let header, let data): try channel.send(header: header, data: data, &context)
    case .truncation: try channel.send(.truncate(PDU.Truncate(message: entry.id)), &context)
    }
  }

  var isWaiting: Bool {
    switch request {
    case nil: false
    case .posts(let posting): posting.postponed != nil || channel.isWornOut
    default: true
    }
  }

  static var evictionCode: UInt16 { 1008 }

  mutating func redirect(to uri: String, _ context: inout SessionContext) -> SessionEnd {
    channel.redirect(to: uri, &context)
  }

  consuming func handle(_ event: SessionEvent, _ context: inout SessionContext) -> SessionState {
    switch process(event, &context) {
    case .goesOn: return .established(self)
    case .isOver: return left()
    case .isClosed:
      // Posts that came before are still queued, but nothing behind them is done.
      if case .posts(var posting) = request {
        posting.postponed = nil
        request = .posts(posting)
      }
      return left()
    }
  }

  /// Finishes the open requests when nothing more can be received or sent.
  private consuming func left() -> SessionState {
    guard case .posts(let posting) = request else { return .closed }
    return .leaving(LeavingState(user: user, posting: posting))
  }
}

// MARK: - What the device sends

extension EstablishedState {
  mutating func receive(
    _ message: WebSocketMessage, _ context: inout SessionContext
  ) throws(SessionEnd) {
    let frame = try channel.open(message, context.setup.limits)
    if let received = try frame.decoded(&context) {
      if case .posts(var posting) = request {
        // Not shared while it is changed, or it would be copied.
        request = nil
        posting.add(received, of: user.key, context.setup.limits)
        request = .posts(posting)
      } else {
        begin(received, &context)
      }
    }
    if request == nil { try channel.endIfWornOut(&context) }
  }

  private mutating func begin(_ received: ReceivedPDU, _ context: inout SessionContext) {
    switch received.pdu {
    case .pause: cursor.isPaused = true
    case .resume: cursor.isPaused = false
    default: request = user.request(for: received, &context)
    }
  }
}

// MARK: - What queries come to

extension EstablishedState {
  mutating func applyReply(_ context: inout SessionContext) throws(SessionEnd) {
    // Nothing is answered after a failure: the device sends it again on another connection.
    switch request.take() {
    case nil: return
    case .posts(let posting):
      let outcomes = try posting.outcomes.required()
      for case .queued(_, let own?, isOwnNew: true) in outcomes { cursor.recordOwn(own) }
      cursor.release()
      if let next = posting.next(&context) {
        request = .posts(next)
      } else if case .pdu(let postponed) = posting.postponed {
        begin(postponed, &context)
      }
    case .truncation(let id, let reply):
      let truncation = try reply.required()
      if case .first(let position) = truncation { cursor.recordOwn(position) }
      cursor.release()
      if truncation != .never { try channel.send(.truncate(PDU.Truncate(message: id)), &context) }
    case .vouchers(let subject, let reply):
      let keys = try reply.required()
      try channel.send(.vouchers(PDU.Vouchers(subject: subject, vouchers: keys)), &context)
    case .search(let reply): try send(try reply.required(), &context)
    case .file(let pdu, let reply):
      try send(reply.value ?? .refused(.internalError), to: pdu, &context)
    case .change(let reply): _ = try reply.required()
    }
    if request == nil { try channel.endIfWornOut(&context) }
  }

  private mutating func send(
    _ accounts: [Version2.User], _ context: inout SessionContext
  ) throws(SessionEnd) {
    if accounts.isEmpty { try channel.send(.user(.nobody), &context) }
    for (index, account) in accounts.enumerated() {
      let user = PDU.User(
        count: UInt16(clamping: accounts.count - 1 - index), key: account.key,
        name: account.name, uid: account.uid)
      try channel.send(.user(user), &context)
    }
  }

  private mutating func send(
    _ reply: FileReply, to request: PDU, _ context: inout SessionContext
  ) throws(SessionEnd) {
    let content: [UInt8]?
    let error: ErrorCode
    switch reply {
    case .done(let file):
      content = file
      error = .done
    case .refused(let code):
      content = [UInt8](code.description.utf8)
      error = code
    }
    guard let pdu = request.fileReply(error) else { throw .failed }
    try channel.send(pdu, data: content.map { user.seal($0, context.setup) } ?? [], &context)
  }
}

/// The user who is logged in.
struct SessionUser {
  let login: AccountLogin
  /// The box around files' data: agreed on when it is first needed, as few connections do.
  private var fileKey: BoxKey?

  init(key: EncryptionPublicKey, authenticationKey: AuthenticationPublicKey) {
    login = AccountLogin(user: key, authenticationKey: authenticationKey, isVersion1: true)
  }

  var key: EncryptionPublicKey { login.user }

  /// Starts the query that answers a PDU.
  ///
  /// - Returns: the subject of the query, or nil if there is none.
  mutating func request(for received: ReceivedPDU, _ context: inout SessionContext) -> UserRequest?
  {
    guard let (query, request) = query(for: received, context.setup) else {
      if received.pdu.isStray { context.count(.ignored) }
      return nil
    }
    context.perform(query)
    return request
  }

  private mutating func query(
    for received: ReceivedPDU, _ setup: SessionSetup
  ) -> (Query, UserRequest)? {
    switch received.pdu {
    case .login, .pause, .resume, .redirect, .user: return nil
    case .new(let new):
      guard let name = AccountName(new.name), setup.isFit(new.key) else { return nil }
      return change { .makeForum(RequestedAccount(new, name: name, uid: ""), $0) }
    case .del(let del): return change { .deleteForum(del.key, $0) }
    case .message(let message):
      guard let post = Post(message, received, by: key) else { return nil }
      let posting = Posting(posts: [post])
      return (posting.query, .posts(posting))
    case .truncate(let truncate):
      let reply = QueryReply<Truncation>()
      return (.truncate(truncate.message, reply), .truncation(truncate.message, reply))
    case .vouch(let vouch):
      guard vouch.subject != key else { return nil }
      if vouch.signature.isZero { return change { .revoke(for: vouch.subject, $0) } }
      guard login.authenticationKey.verifies(vouch.signature, over: vouch.subject) else {
        return nil
      }
      return change { .vouch(for: vouch.subject, signature: nil, $0) }
    case .vouchers(let vouchers):
      guard vouchers.vouchers.isEmpty else { return nil }
      let reply = QueryReply<[EncryptionPublicKey]>()
      return (
        .vouchers(of: vouchers.subject, reply), .vouchers(of: vouchers.subject, reply)
      )
    case .searchByName(let search): return find(.name(Version2.TextQuery(search)))
    case .searchByUid(let search): return find(.uid(Version2.TextQuery(search)))
    case .searchByKey(let search): return find(.key(search.key))
    case .read(let read): return file(.read, read, received.pdu)
    case .lock(let lock): return file(.lock, lock, received.pdu)
    case .remove(let remove): return file(.remove, remove, received.pdu)
    case .write(let write):
      return file(.write(open(received.data, setup)), write, received.pdu)
    }
  }

  private func change(_ query: (QueryReply<ErrorCode>) -> Query) -> (Query, UserRequest) {
    let reply = QueryReply<ErrorCode>()
    return (query(reply), .change(reply))
  }

  private func find(_ search: AccountSearch) -> (Query, UserRequest) {
    let reply = QueryReply<[Version2.User]>()
    return (.find(search, reply), .search(reply))
  }

  private func file<let type: Int>(
    _ act: FileRequest.Act, _ request: PDU.FileRequest<type>, _ pdu: PDU
  ) -> (Query, UserRequest) {
    let request = FileRequest(act: act, directory: request.directory, filename: request.filename)
    let reply = QueryReply<FileReply>()
    return (.file(request, reply), .file(pdu, reply))
  }

  // MARK: - Files' data

  /// Boxes the content of a file for the user.
  mutating func seal(_ content: [UInt8], _ setup: SessionSetup) -> [UInt8] {
    fileKey(setup)?.seal(content, nonce: setup.identity.dataNonce) ?? []
  }

  /// Opens the content of a file, or returns nil if the user has not boxed it for the service.
  private mutating func open(_ data: [UInt8], _ setup: SessionSetup) -> [UInt8]? {
    fileKey(setup)?.open(data, nonce: setup.identity.dataNonce)
  }

  private mutating func fileKey(_ setup: SessionSetup) -> BoxKey? {
    if fileKey == nil { fileKey = BoxKey(own: setup.encryption, peer: key) }
    return fileKey
  }
}

extension Version2.TextQuery {
  /// Takes a search of version 1, of whose results there is one page.
  fileprivate init<let type: Int>(_ search: PDU.TextSearch<type>) {
    self.init(text: search.text, page: Version2.PageQuery(max: search.maxUsers))
  }
}
