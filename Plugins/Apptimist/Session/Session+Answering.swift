internal import ApptimistProtocol
internal import Cryptography

// What questions come to, and what devices are told.
extension Session {
  mutating func take(_ answer: Answer, to request: Request) {
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
    case (.posts, .posted(let positions)):
      for position in positions { stream?.noteOwn(position) }
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

  mutating func logIn(_ account: Account?) {
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

  mutating func sendFound(_ accounts: [FoundAccount]) {
    if accounts.isEmpty { send(.user(.nobody)) }
    for (index, account) in accounts.enumerated() {
      // Both were fields of one byte's length when they came.
      let user = PDU.User(
        count: UInt16(clamping: accounts.count - 1 - index), key: account.key,
        name: ShortBytes(account.name) ?? .empty, uid: ShortBytes(account.uid) ?? .empty)
      send(.user(user))
    }
  }

  mutating func sendAnswer<Request: PDU.FileRequest>(
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
  mutating func fileKey(of user: EncryptionPublicKey) -> BoxKey? {
    if fileKey == nil { fileKey = BoxKey(own: setup.keys.encryption, peer: user) }
    return fileKey
  }
}
