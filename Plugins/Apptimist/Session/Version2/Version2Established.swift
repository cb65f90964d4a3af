internal import ApptimistProtocol
internal import Cryptography
internal import HTTPProtocol

/// The user is logged in, and the stream goes on from its cursor.
struct Version2Established: ~Copyable, StreamState {
  /// The open query, and what its reply is for.
  enum Subject {
    case posts(Posting)
    indirect case truncation(MessageID, OpenRequest, QueryReply<Truncation>)
    /// The place of a truncation that was made before.
    case truncationPlace(OpenRequest, QueryReply<MailboxPosition>)
    /// Asks for the subject of a voucher whose signature, unless it has none, is valid.
    indirect case voucherSubject(PDU.Vouch, OpenRequest, QueryReply<ErrorCode>)
    /// The account is being deleted, and its session ends.
    case leave(OpenRequest, QueryReply<ErrorCode>)
    case file(OpenRequest, QueryReply<FileReply>)
    case vouchers(OpenRequest, QueryReply<Result<ListPage<Version2.Voucher>, ErrorCode>>)
    case accounts(OpenRequest, QueryReply<Result<ListPage<Version2.User>, ErrorCode>>)
    /// A change, whose outcome is the answer.
    case change(OpenRequest, QueryReply<ErrorCode>)
  }

  private var link: Version2Link
  private let login: AccountLogin
  private let device: Version2.DeviceID
  var cursor: StreamCursor
  /// The last position that the stream has given.
  private var given: MailboxPosition
  private var subject: Subject?

  init(
    _ link: consuming Version2Link, _ login: AccountLogin, _ device: Version2.DeviceID,
    _ beginning: StreamStart, _ limits: SessionLimits
  ) {
    self.link = link
    self.login = login
    self.device = device
    given = beginning.start
    cursor = StreamCursor(after: beginning.start, ownLimit: limits.ownEntries)
  }

  var user: EncryptionPublicKey { login.user }

  var isWaiting: Bool {
    switch subject {
    case nil: false
    case .posts(let posting): posting.postponed != nil
    default: true
    }
  }

  var making: StreamMaking? {
    switch subject {
    case .posts(let posting): .posts(posting.posts)
    case .truncation(let id, _, _): .truncation(id)
    default: nil
    }
  }

  mutating func send(_ entry: MailboxEntry, _ context: inout SessionContext) {
    given = entry.position
    link.send(entry, &context)
  }

  static var evictionCode: UInt16 { 4008 }

  mutating func redirect(to uri: String, _ context: inout SessionContext) -> SessionEnd {
    link.redirect(to: uri, &context)
  }

  consuming func handle(_ event: SessionEvent, _ context: inout SessionContext) -> SessionState {
    switch process(event, &context) {
    case .goesOn: return .establishedVersion2(self)
    case .isOver, .isClosed: return left()
    }
  }

  /// Finishes the open requests when nothing more can be received or sent.
  private consuming func left() -> SessionState {
    guard case .posts(let posting) = subject else { return .closed }
    return .leaving(LeavingState(posting: posting))
  }

  // MARK: - What the device sends

  mutating func receive(
    _ message: WebSocketMessage, _ context: inout SessionContext
  ) throws(SessionEnd) {
    guard case .posts(var posting) = subject else {
      return begin(try link.receive(message, &context), &context)
    }
    // Not shared while it is changed, or it would be copied.
    subject = nil
    defer { subject = .posts(posting) }
    let received = try link.receive(message, &context)
    if let post = Post(received, by: login),
      posting.gather(post, context.setup.limits)
    {
      return
    }
    posting.postponed = .request(received)
  }

  private mutating func begin(_ received: ReceivedRequest, _ context: inout SessionContext) {
    let request = received.request
    guard !received.hasStrayData else { return link.answer(request, .badField, &context) }
    switch received.body {
    case .login, nil: link.answer(request, .noSuchType, &context)
    case .pause, .resume:
      cursor.isPaused = received.body == .pause
      link.answer(request, .done, &context)
    case .message:
      guard let post = Post(received, by: login) else {
        return link.answer(request, .notPermitted, &context)
      }
      let posting = Posting(posts: [post])
      subject = .posts(posting)
      context.perform(posting.query)
    case .new(let new):
      do throws(ErrorCode) {
        let forum = try link.account(new, token: received.data, isForum: true, context.setup)
        change(request, &context) { .makeForum(forum, $0) }
      } catch { link.answer(request, error, &context) }
    case .ack(let ack): acknowledge(ack, request, &context)
    case .leave(let signature):
      guard link.isLeave(signature, of: login) else {
        return link.answer(request, .wrongProof, &context)
      }
      let reply = QueryReply<ErrorCode>()
      subject = .leave(request, reply)
      context.perform(.leave(reply))
    case .join(let forum): change(request, &context) { .join(forum, $0) }
    case .push(let push):
      let device = device
      change(request, &context) { .push(push, data: received.data, device: device, $0) }
    case .truncate(let truncate):
      let reply = QueryReply<Truncation>()
      subject = .truncation(truncate.message, request, reply)
      context.perform(.truncate(truncate.message, reply))
    case .vouch(let vouch):
      let reply = QueryReply<ErrorCode>()
      subject = .voucherSubject(vouch, request, reply)
      context.perform(.exists(vouch.subject, reply))
    case .del(let del): change(request, &context) { .deleteForum(del.key, $0) }
    case .vouchers(let query):
      let reply = QueryReply<Result<ListPage<Version2.Voucher>, ErrorCode>>()
      subject = .vouchers(request, reply)
      context.perform(.voucherPage(query, reply))
    case .searchByName(let query): search(.name(query), request, &context)
    case .searchByUid(let query): search(.uid(query), request, &context)
    case .searchByKey(let query): search(.key(query.key), request, &context)
    case .read(let file): requestFile(.read, file, request, &context)
    case .lock(let file): requestFile(.lock, file, request, &context)
    case .write(let file): requestFile(.write(received.data), file, request, &context)
    case .remove(let file): requestFile(.remove, file, request, &context)
    }
  }

  private mutating func change(
    _ request: OpenRequest, _ context: inout SessionContext,
    _ query: (QueryReply<ErrorCode>) -> Query
  ) {
    let reply = QueryReply<ErrorCode>()
    subject = .change(request, reply)
    context.perform(query(reply))
  }

  private mutating func search(
    _ search: AccountSearch, _ request: OpenRequest, _ context: inout SessionContext
  ) {
    let reply = QueryReply<Result<ListPage<Version2.User>, ErrorCode>>()
    subject = .accounts(request, reply)
    context.perform(.search(search, reply))
  }

  private mutating func requestFile(
    _ act: FileRequest.Act, _ file: Version2.FileQuery, _ request: OpenRequest,
    _ context: inout SessionContext
  ) {
    let reply = QueryReply<FileReply>()
    subject = .file(request, reply)
    context.perform(
      .file(
        FileRequest(act: act, directory: file.directory, filename: file.filename), reply))
  }

  private mutating func acknowledge(
    _ ack: Version2.Ack, _ request: OpenRequest, _ context: inout SessionContext
  ) {
    guard ack.position <= UInt64(bitPattern: given.rawValue) else {
      return link.answer(request, .badField, &context)
    }
    let position = MailboxPosition(rawValue: Int64(bitPattern: ack.position))
    let device = device
    change(request, &context) {
      .acknowledge(position, device: device, isAnswered: request.number != 0, $0)
    }
  }

  // MARK: - What queries come to

  mutating func applyReply(_ context: inout SessionContext) throws(SessionEnd) {
    switch subject.take() {
    case nil: return
    case .leave(let request, let reply):
      let outcome = reply.value ?? .internalError
      link.answer(request, outcome, &context)
      if outcome == .done { throw .close(1008) }
    case .posts(let posting): finish(posting, &context)
    case .truncation(let id, let request, let reply):
      switch reply.value {
      case .first(let position):
        cursor.recordOwn(position)
        link.answer(request, .success(.placed(position, isKnown: false)), &context)
      case .again:
        let position = QueryReply<MailboxPosition>()
        subject = .truncationPlace(request, position)
        context.perform(.truncation(of: id, position))
      case .never: link.answer(request, .notFound, &context)
      case nil: link.answer(request, .internalError, &context)
      }
      cursor.release()
    case .truncationPlace(let request, let reply):
      guard let position = reply.value else {
        return link.answer(request, .internalError, &context)
      }
      link.answer(request, .success(.placed(position, isKnown: true)), &context)
    case .voucherSubject(let vouch, let request, let reply):
      let outcome = reply.value ?? .internalError
      guard outcome == .done else { return link.answer(request, outcome, &context) }
      applyVouch(vouch, request, &context)
    case .change(let request, let reply):
      link.answer(request, reply.value ?? .internalError, &context)
    case .file(let request, let reply):
      switch reply.value ?? .refused(.internalError) {
      case .done(let content):
        link.answer(request, .success(.done), data: content ?? [], &context)
      case .refused(let error): link.answer(request, error, &context)
      }
    case .vouchers(let request, let reply):
      answer(request, reply.value, &context) { voucher, list in voucher.append(to: &list) }
    case .accounts(let request, let reply):
      answer(request, reply.value, &context) { user, list in user.append(to: &list) }
    }
  }

  /// Answers with a page of a list, or with the error that applies.
  private mutating func answer<Item>(
    _ request: OpenRequest, _ page: Result<ListPage<Item>, ErrorCode>?,
    _ context: inout SessionContext, append: (Item, inout [UInt8]) -> Void
  ) {
    switch page ?? .failure(.internalError) {
    case .failure(let error): link.answer(request, error, &context)
    case .success(let page):
      var list: [UInt8] = []
      for item in page.items { append(item, &list) }
      link.answer(request, .page(page.items.count, page.next), data: list, &context)
    }
  }

  /// Vouches for an existing account, or takes that back.
  private mutating func applyVouch(
    _ vouch: PDU.Vouch, _ request: OpenRequest, _ context: inout SessionContext
  ) {
    guard vouch.subject != user else { return link.answer(request, .notPermitted, &context) }
    if vouch.signature.isZero {
      return change(request, &context) { .revoke(for: vouch.subject, $0) }
    }
    let signed = Version2.vouch(
      for: vouch.subject, by: user, at: context.setup.identity.encryptionKey)
    guard login.authenticationKey.verifies(vouch.signature, over: signed) else {
      return link.answer(request, .wrongProof, &context)
    }
    change(request, &context) {
      .vouch(for: vouch.subject, signature: vouch.signature, $0)
    }
  }

  /// Answers posts that were queued, and goes on with what came behind them.
  private mutating func finish(_ posting: Posting, _ context: inout SessionContext) {
    let outcomes =
      posting.outcomes.value ?? posting.posts.map { _ in .refused(.internalError) }
    for (post, outcome) in zip(posting.posts, outcomes) {
      let request = OpenRequest(post)
      switch outcome {
      case .queued(let isKnown, let own, let isOwnNew):
        // An own one that was queued before, in another session, is in this session's stream.
        if let own, isOwnNew { cursor.recordOwn(own) }
        link.answer(request, .success(.placed(own ?? .zero, isKnown: isKnown)), &context)
      case .refused(let error): link.answer(request, error, &context)
      }
    }
    cursor.release()
    if let next = posting.next(&context) {
      subject = .posts(next)
    } else if case .request(let postponed) = posting.postponed {
      begin(postponed, &context)
    }
  }
}

extension OpenRequest {
  /// The request of a post.
  fileprivate init(_ post: Post) {
    let number: UInt32 = if case .version2(let request, _) = post.origin { request } else { 0 }
    self.init(type: PDU.Message.type, number: number)
  }
}

extension Version2.Answer.Content {
  fileprivate static func placed(_ position: MailboxPosition, isKnown: Bool) -> Self {
    .placed(isKnown: isKnown, position: UInt64(bitPattern: position.rawValue))
  }
}

extension Result where Success == Version2.Answer.Content, Failure == ErrorCode {
  fileprivate static func page(_ count: Int, _ next: Version2.Cursor) -> Self {
    .success(.page(Version2.Page(next: next, count: UInt16(clamping: count))))
  }
}
