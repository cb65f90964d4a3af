internal import ApptimistProtocol
internal import Cryptography
internal import HTTPProtocol

/// The user is logged in, and the stream goes on from its cursor.
struct Version2Established: ~Copyable, StreamState {
  /// The subject of the open query.
  enum Subject {
    case posts(Posting)
    indirect case truncation(MessageID, OpenRequest)
    /// The place of a truncation that was made before.
    case truncationPlace(OpenRequest)
    /// Asks for the subject of a voucher whose signature, unless it has none, is valid.
    indirect case voucherSubject(PDU.Vouch, OpenRequest)
    /// The account is being deleted, and its session ends.
    case leave(OpenRequest)
    case other(OpenRequest)
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
    case .truncation(let id, _): .truncation(id)
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
      subject = .posts(Posting(posts: [post]))
      context.ask(.post([post]))
    case .new(let new):
      do throws(ErrorCode) {
        let forum = try link.account(new, token: received.data, isForum: true, context.setup)
        ask(.makeForum(forum), request, &context)
      } catch { link.answer(request, error, &context) }
    case .ack(let ack): acknowledge(ack, request, &context)
    case .leave(let signature):
      guard link.isLeave(signature, of: login) else {
        return link.answer(request, .wrongProof, &context)
      }
      subject = .leave(request)
      context.ask(.leave)
    case .join(let forum): ask(.join(forum), request, &context)
    case .push(let push):
      ask(.push(push, data: received.data, device: device), request, &context)
    case .truncate(let truncate):
      subject = .truncation(truncate.message, request)
      context.ask(.truncate(truncate.message))
    case .vouch(let vouch):
      subject = .voucherSubject(vouch, request)
      context.ask(.exists(vouch.subject))
    case .del(let del): ask(.deleteForum(del.key), request, &context)
    case .vouchers(let query): ask(.voucherPage(query), request, &context)
    case .searchByName(let query): ask(.search(.name(query)), request, &context)
    case .searchByUid(let query): ask(.search(.uid(query)), request, &context)
    case .searchByKey(let query): ask(.search(.key(query.key)), request, &context)
    case .read(let file): ask(.read, file, request, &context)
    case .lock(let file): ask(.lock, file, request, &context)
    case .write(let file): ask(.write(received.data), file, request, &context)
    case .remove(let file): ask(.remove, file, request, &context)
    }
  }

  private mutating func ask(
    _ query: Query, _ request: OpenRequest, _ context: inout SessionContext
  ) {
    subject = .other(request)
    context.ask(query)
  }

  private mutating func ask(
    _ act: FileRequest.Act, _ file: Version2.FileQuery, _ request: OpenRequest,
    _ context: inout SessionContext
  ) {
    ask(
      .file(FileRequest(act: act, directory: file.directory, filename: file.filename)), request,
      &context)
  }

  private mutating func acknowledge(
    _ ack: Version2.Ack, _ request: OpenRequest, _ context: inout SessionContext
  ) {
    guard ack.position <= UInt64(bitPattern: given.rawValue) else {
      return link.answer(request, .badField, &context)
    }
    let position = MailboxPosition(rawValue: Int64(bitPattern: ack.position))
    ask(.acknowledge(position, device: device, isAnswered: request.number != 0), request, &context)
  }

  // MARK: - What queries come to

  mutating func apply(_ reply: Reply, _ context: inout SessionContext) throws(SessionEnd) {
    switch (subject.take(), reply) {
    case (nil, _): return
    case (.leave(let request), .outcome(.done)):
      link.answer(request, .done, &context)
      throw .close(1008)
    case (.posts(let posting), _): apply(reply, to: posting, &context)
    case (.truncation(let id, let request), .truncated(let truncation)):
      switch truncation {
      case .first(let position):
        cursor.recordOwn(position)
        link.answer(request, .success(.placed(position, isKnown: false)), &context)
      case .again:
        subject = .truncationPlace(request)
        context.ask(.truncation(of: id))
      case .never: link.answer(request, .notFound, &context)
      }
      cursor.release()
    case (.truncation(_, let request), _):
      cursor.release()
      link.answer(request, .internalError, &context)
    case (.truncationPlace(let request), .position(let position)):
      link.answer(request, .success(.placed(position, isKnown: true)), &context)
    case (.voucherSubject(let vouch, let request), .outcome(.done)):
      applyVouch(vouch, request, &context)
    case (.voucherSubject(_, let request), .outcome(let error)),
      (.leave(let request), .outcome(let error)), (.other(let request), .outcome(let error)):
      link.answer(request, error, &context)
    case (.other(let request), .file(.done(let content))):
      link.answer(request, .success(.done), data: content ?? [], &context)
    case (.other(let request), .file(.refused(let error))): link.answer(request, error, &context)
    case (.other(let request), .voucherPage(let vouchers, let next)):
      var list: [UInt8] = []
      for voucher in vouchers { voucher.append(to: &list) }
      link.answer(request, .page(vouchers.count, next), data: list, &context)
    case (.other(let request), .accountPage(let users, let next)):
      var list: [UInt8] = []
      for user in users { user.append(to: &list) }
      link.answer(request, .page(users.count, next), data: list, &context)
    case (.truncationPlace(let request), _), (.voucherSubject(_, let request), _),
      (.leave(let request), _), (.other(let request), _):
      link.answer(request, .internalError, &context)
    }
  }

  /// Vouches for an existing account, or takes that back.
  private mutating func applyVouch(
    _ vouch: PDU.Vouch, _ request: OpenRequest, _ context: inout SessionContext
  ) {
    guard vouch.subject != user else { return link.answer(request, .notPermitted, &context) }
    if vouch.signature.isZero { return ask(.revoke(for: vouch.subject), request, &context) }
    let signed = Version2.vouch(
      for: vouch.subject, by: user, at: context.setup.identity.encryptionKey)
    guard login.authenticationKey.verifies(vouch.signature, over: signed) else {
      return link.answer(request, .wrongProof, &context)
    }
    ask(.vouch(for: vouch.subject, signature: vouch.signature), request, &context)
  }

  private mutating func apply(_ reply: Reply, to posting: Posting, _ context: inout SessionContext)
  {
    let outcomes: [PostOutcome] =
      if case .outcomes(let outcomes) = reply, outcomes.count == posting.posts.count {
        outcomes
      } else { posting.posts.map { _ in .refused(.internalError) } }
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
