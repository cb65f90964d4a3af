internal import ApptimistProtocol
internal import Cryptography
internal import HTTPProtocol

/// A device's connection, without I/O: takes what comes, and says what to do.
///
/// It asks one question at a time, and receives nothing while one is open: so everything is done in
/// the order in which it came. It can't be copied, as its boxes can't.
struct Session: ~Copyable {
  /// What a session is made for.
  struct Setup: Sendable {
    /// The service's keys.
    let keys: ServiceKeys
    /// The device's, from the URI's query.
    let ephemeralKey: EncryptionPublicKey
    /// Where the device connected to, without a query.
    let uri: String
    let limits: SessionLimits
    /// How long the silence lasts if the session is refused.
    let silence: Duration
    /// Told of what happens.
    let note: @Sendable (SessionEvent) -> Void
  }

  /// How far a session is.
  private enum Phase: Equatable {
    /// Nothing has come yet that opens.
    case open
    /// The device has the ephemeral key's secret, and is this key's only user.
    case joining
    /// Logged in.
    case established
    /// Refused, and silent for a while.
    case refused
    /// Closed, or about to be.
    case closed
  }

  let setup: Setup
  private var phase = Phase.open
  /// The boxes around the headers; their key is wiped with the session.
  private var channel: HeaderChannel
  /// The box around files' data, once one is needed.
  private var fileKey: BoxKey?
  /// The account that `new` made, or the one that logged in.
  private var registered: PDU.New?
  private(set) var account: Account?
  private var login: PDU.Login?
  private var stream: StreamProgress?
  /// What the open question is about; nil: none is open.
  private var request: Request?
  private var actions: [SessionAction] = []
  /// Whether the socket is slow to take what was sent.
  var isBackedUp = false

  /// What the open question is about.
  private enum Request {
    /// The first PDU, which waits for the key to be claimed.
    case first(header: [UInt8], data: [UInt8])
    case new(PDU.New)
    case login
    case start
    case post
    case truncate(MessageID)
    case vouchers(of: EncryptionPublicKey)
    case search
    case read(PDU.Read)
    case lock(PDU.Lock)
    case write(PDU.Write)
    case remove(PDU.Remove)
    case other
  }

  /// A session that has just been opened.
  ///
  /// - Parameter setup: what it is made for.
  /// - Returns: nil if no secret can be agreed on with the ephemeral key.
  init?(_ setup: Setup) {
    let channel = HeaderChannel(
      own: setup.keys.encryption, peer: setup.ephemeralKey,
      dataNonce: setup.keys.identity.dataNonce)
    guard let channel else { return nil }
    self.setup = setup
    self.channel = channel
  }

  // MARK: - What the driver asks

  /// Whether a question is open.
  var isWaiting: Bool { request != nil }

  /// Whether nothing more is to come.
  var isOver: Bool { phase == .closed }

  /// Who is logged in.
  var user: EncryptionPublicKey? { phase == .established ? account?.key : nil }

  /// Decides whether to read the queue.
  ///
  /// - Returns: the position to read after; nil: not now.
  mutating func nextRead() -> StreamPosition? {
    guard phase == .established, !isBackedUp else { return nil }
    return stream?.nextRead()
  }

  // MARK: - Events

  /// The session was opened.
  mutating func opened() -> [SessionAction] {
    actions.append(.wait(setup.limits.loginTime))
    return takeActions()
  }

  /// A message came.
  mutating func received(_ message: WebSocketMessage) -> [SessionAction] {
    guard phase != .refused, phase != .closed else { return [] }
    switch message {
    case .text: close(1003)
    case .binary(let bytes): receive(bytes)
    }
    return takeActions()
  }

  /// An answer to the open question came.
  mutating func answered(_ answer: Answer) -> [SessionAction] {
    let request = self.request
    self.request = nil
    guard let request, phase != .refused, phase != .closed else { return [] }
    take(answer, to: request)
    endIfWornOut()
    return takeActions()
  }

  /// The user's queue has a further entry; this session didn't make it.
  mutating func queued(_ entry: StreamEntry) -> [SessionAction] {
    guard phase == .established else { return [] }
    if stream?.note(entry.position, isReady: !isBackedUp) == true {
      deliver(entry)
    }
    return takeActions()
  }

  /// A part of the queue was read; nil: that failed.
  mutating func read(_ page: StreamPage?) -> [SessionAction] {
    guard phase == .established else { return [] }
    guard let page else {
      close(1011)
      return takeActions()
    }
    guard stream?.isPaused == false else {
      stream?.finishRead(end: nil, isLast: false)
      return []
    }
    for entry in page.entries where stream?.wants(entry.position) == true {
      guard deliver(entry) else {
        stream?.finishRead(end: nil, isLast: false)
        return takeActions()
      }
    }
    stream?.finishRead(end: page.end, isLast: page.isLast)
    return takeActions()
  }

  /// The time is over that the session wanted to wait.
  mutating func timeIsOver() -> [SessionAction] {
    switch phase {
    case .open, .joining:
      setup.note(.refused)
      close(1008)
    case .refused: close(1008)
    case .established, .closed: break
    }
    return takeActions()
  }

  /// The user has opened too many sessions after this one.
  mutating func evicted() -> [SessionAction] {
    if phase != .closed { close(1008) }
    return takeActions()
  }

  /// The server is about to stop; the session is closed with 1001 in any case.
  ///
  /// - Parameter uri: where devices are to go; nil: nowhere in particular.
  mutating func draining(to uri: String?) -> [SessionAction] {
    // Before the key is claimed, another connection may use the same nonces.
    if let uri, isOpen { redirect(to: uri) }
    phase = .closed
    return takeActions()
  }

  /// The connection is over.
  mutating func ended() {
    phase = .closed
    fileKey = nil
    account = nil
    stream = nil
    request = nil
  }

  // MARK: - Receiving

  private mutating func receive(_ bytes: [UInt8]) {
    let frame: Frame
    do throws(FrameError) {
      frame = try Frame(bytes, limits: setup.limits.frame)
    } catch {
      return close(error == .overLimit ? 1009 : 1002)
    }
    guard let header = try? channel.open(frame) else { return refuse() }
    let data = [UInt8](frame.eData)
    if phase == .open {
      ask(.claim, .first(header: header, data: data))
    } else {
      handle(header, data)
      endIfWornOut()
    }
  }

  private mutating func handle(_ header: [UInt8], _ data: [UInt8]) {
    let pdu: PDU
    do throws(PDUError) {
      pdu = try PDU(decoding: header)
    } catch {
      if case .unknownType = error { return setup.note(.unknownType) }
      return refuse()
    }
    setup.note(.received(type: header[1]))
    switch phase {
    case .joining: join(pdu)
    case .established:
      if let account { handle(pdu, header, data, of: account) }
    case .open, .refused, .closed: break
    }
  }

  /// Takes a PDU before the login.
  private mutating func join(_ pdu: PDU) {
    switch pdu {
    case .new(let new):
      guard let name = AccountName(new.name), let uid = new.uid.text, isFit(new),
        registered == nil || registered?.key == new.key
      else { return refuse() }
      ask(.register(new, name: name, uid: uid), .new(new))
    case .login(let login):
      self.login = login
      ask(.account(login.user), .login)
    default: noteStray(pdu)
    }
  }

  /// Whether the keys of an account to be made are no others' here.
  private func isFit(_ new: PDU.New) -> Bool {
    !new.key.isLowOrder && !new.authenticationKey.isLowOrder
      && new.key != setup.keys.identity.encryptionKey && new.key != setup.ephemeralKey
  }

  private func noteStray(_ pdu: PDU) {
    switch pdu {
    case .redirect, .user: setup.note(.unknownType)
    case .vouchers(let vouchers) where !vouchers.vouchers.isEmpty: setup.note(.unknownType)
    default: break
    }
  }

  /// Takes a PDU of a user.
  private mutating func handle(
    _ pdu: PDU, _ header: [UInt8], _ data: [UInt8], of account: Account
  ) {
    let user = account.key
    switch pdu {
    case .login: break
    case .redirect, .user: noteStray(pdu)
    case .new(let new):
      guard let name = AccountName(new.name), isFit(new) else { return }
      ask(.makeForum(new, name: name, author: user))
    case .del(let del): ask(.deleteForum(del.key, by: user))
    case .message(let message):
      guard message.from == user else { return }
      ask(.post(Post(message: message, header: header, data: data)), .post)
    case .truncate(let truncate):
      ask(.truncate(truncate.message, user: user), .truncate(truncate.message))
    case .pause: stream?.pause()
    case .resume: stream?.resume()
    case .vouch(let vouch):
      guard vouch.subject != user else { return }
      if vouch.signature.isZero {
        ask(.revoke(for: vouch.subject, by: user))
      } else if account.authenticationKey.verifies(vouch.signature, over: vouch.subject) {
        ask(.vouch(for: vouch.subject, by: user))
      }
    case .vouchers(let vouchers):
      guard vouchers.vouchers.isEmpty else { return noteStray(pdu) }
      ask(.vouchers(of: vouchers.subject), .vouchers(of: vouchers.subject))
    case .searchByName(let search):
      ask(.searchName(search.name, max: Int(search.maxUsers)), .search)
    case .searchByUid(let search):
      ask(.searchUid(search.uid, max: Int(search.maxUsers)), .search)
    case .searchByKey(let search): ask(.searchKey(search.key), .search)
    case .read(let read): ask(.file(request(.read, read, user)), .read(read))
    case .lock(let lock): ask(.file(request(.lock, lock, user)), .lock(lock))
    case .remove(let remove): ask(.file(request(.remove, remove, user)), .remove(remove))
    case .write(let write):
      let content = fileKey(of: user)?.open(data, nonce: setup.keys.identity.dataNonce)
      ask(.file(request(.write(content), write, user)), .write(write))
    }
  }

  private func request(
    _ act: FileRequest.Act, _ pdu: some PDU.FileRequest, _ user: EncryptionPublicKey
  ) -> FileRequest {
    FileRequest(act: act, directory: pdu.directory, filename: pdu.filename, user: user)
  }

  private mutating func ask(_ question: Question, _ request: Request = .other) {
    self.request = request
    actions.append(.ask(question))
  }

  // MARK: - Answers

  private mutating func take(_ answer: Answer, to request: Request) {
    switch (request, answer) {
    case (.first(let header, let data), .claimed(let isOurs)):
      guard isOurs else { return close(1008) }
      phase = .joining
      handle(header, data)
    case (.new(let new), .registered(let isThere)):
      guard isThere else { return refuse() }
      registered = new
    case (.login, .account(let account)): logIn(account)
    case (.start, .started(let position)):
      stream = StreamProgress(after: position, ownLimit: setup.limits.ownEntries)
    case (.post, .posted(let position)):
      if let position { stream?.noteOwn(position) }
      stream?.release()
    case (.truncate(let id), .truncated(let truncation)):
      if case .first(let position) = truncation { stream?.noteOwn(position) }
      stream?.release()
      if truncation != .never { send(.truncate(PDU.Truncate(message: id))) }
    case (.vouchers(let subject), .vouchers(let keys)):
      send(.vouchers(PDU.Vouchers(subject: subject, vouchers: keys)))
    case (.search, .found(let accounts)): sendFound(accounts)
    case (.read(let pdu), .file(let answer)):
      sendAnswer(answer, to: pdu) { .read($0) }
    case (.lock(let pdu), .file(let answer)):
      sendAnswer(answer, to: pdu) { .lock($0) }
    case (.write(let pdu), .file(let answer)):
      sendAnswer(answer, to: pdu) { .write($0) }
    case (.remove(let pdu), .file(let answer)):
      sendAnswer(answer, to: pdu) { .remove($0) }
    case (.other, .done): break
    // What a device isn't told of it must send again, on another connection.
    default: close(1011)
    }
  }

  private mutating func logIn(_ account: Account?) {
    guard let login, let account, account.isUser,
      account.authenticationKey.verifies(login.signature, over: login.user)
    else { return refuse() }
    self.account = account
    self.login = nil
    registered = nil
    phase = .established
    actions.append(.join(account.key))
    ask(.start(user: account.key, head: login.head, max: Int(login.max)), .start)
  }

  private mutating func sendFound(_ accounts: [FoundAccount]) {
    if accounts.isEmpty { send(.user(.nobody)) }
    for (index, account) in accounts.enumerated() {
      // Both were fields of one byte's length when they came.
      let user = PDU.User(
        count: UInt16(clamping: accounts.count - 1 - index), key: account.key,
        name: ShortBytes(account.name) ?? .empty, uid: ShortBytes(account.uid) ?? .empty)
      send(.user(user))
    }
  }

  private mutating func sendAnswer<Request: PDU.FileRequest>(
    _ answer: FileAnswer, to request: Request, _ pdu: (Request) -> PDU
  ) {
    let content: [UInt8]?
    let error: ErrorCode
    switch answer {
    case .done(let file): (content, error) = (file, .done)
    case .refused(let code): (content, error) = ([UInt8](code.description.utf8), code)
    }
    var data: [UInt8] = []
    if let content, let account, let key = fileKey(of: account.key) {
      data = key.seal(content, nonce: setup.keys.identity.dataNonce)
    }
    send(pdu(request.answer(error)), data)
  }

  /// What boxes files' data: agreed on when it is first needed, as few connections do.
  private mutating func fileKey(of user: EncryptionPublicKey) -> BoxKey? {
    if fileKey == nil { fileKey = BoxKey(own: setup.keys.encryption, peer: user) }
    return fileKey
  }

  // MARK: - The stream

  /// Sends an entry of the stream, if it is known not to be this session's own.
  ///
  /// - Returns: whether it was sent.
  @discardableResult
  private mutating func deliver(_ entry: StreamEntry) -> Bool {
    guard phase == .established else { return false }
    if mayBeOwn(entry) {
      stream?.hold()
      return false
    }
    // Before it is sent: a session that ends with it has sent it.
    stream?.pass(entry.position)
    switch entry.content {
    case .message(let header, let data):
      send(try? channel.seal(header: header, data: data[...]), type: PDU.Message.type)
    case .truncation: send(.truncate(PDU.Truncate(message: entry.id)))
    }
    return true
  }

  /// Whether the entry may be what the open question is making.
  private func mayBeOwn(_ entry: StreamEntry) -> Bool {
    switch (request, entry.content) {
    case (.post, .message(let header, _)):
      guard case .message(let message)? = try? PDU(decoding: header) else { return false }
      return message.from == account?.key
    case (.truncate(let id), .truncation): return entry.id == id
    default: return false
    }
  }

  // MARK: - Sending and ending

  private mutating func send(_ pdu: PDU, _ data: [UInt8] = []) {
    guard isOpen else { return }
    send(try? channel.seal(pdu, data: data[...]), type: pdu.typeNumber)
  }

  /// Sends a sealed PDU; ends the session if that took the last counter.
  private mutating func send(_ message: [UInt8]?, type: UInt8) {
    guard let message else { return close(1001) }
    setup.note(.sent(type: type))
    actions.append(.send(message))
    if channel.isWornOut, type != PDU.Redirect.type { redirect(to: setup.uri) }
  }

  /// Whether PDUs go in both directions.
  private var isOpen: Bool { phase == .joining || phase == .established }

  /// Ends a session whose counters are used up, once the last PDU that came is dealt with.
  private mutating func endIfWornOut() {
    guard request == nil, isOpen, channel.isWornOut else { return }
    redirect(to: setup.uri)
  }

  private mutating func redirect(to uri: String) {
    if let pdu = PDU.Redirect(uri: uri) {
      send(.redirect(pdu))
      setup.note(.redirected)
    }
    close(1001)
  }

  /// Refuses what broke the protocol: after the login at once, before it after a silence, so that
  /// nobody learns anything by trying.
  private mutating func refuse() {
    setup.note(.refused)
    guard phase != .established else { return close(1008) }
    phase = .refused
    request = nil
    actions.append(.wait(setup.silence))
  }

  private mutating func close(_ code: UInt16) {
    phase = .closed
    request = nil
    actions.append(.close(code))
  }

  private mutating func takeActions() -> [SessionAction] {
    defer { actions = [] }
    return actions
  }
}
