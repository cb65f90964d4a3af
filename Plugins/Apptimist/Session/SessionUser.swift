internal import ApptimistProtocol
internal import Cryptography

/// The user who is logged in.
struct SessionUser {
  let login: AccountLogin
  /// The box around files' data: agreed on when it is first needed, as few connections do.
  private var fileKey: BoxKey?

  init(key: EncryptionPublicKey, authenticationKey: AuthenticationPublicKey) {
    login = AccountLogin(user: key, authenticationKey: authenticationKey, isVersion1: true)
  }

  var key: EncryptionPublicKey { login.user }

  /// Asks for what a PDU wants done.
  ///
  /// - Returns: the subject of the query, or nil if none was asked.
  mutating func ask(for received: ReceivedPDU, _ context: inout SessionContext) -> UserRequest? {
    guard let (query, request) = query(for: received, context.setup) else {
      if received.pdu.isStray { context.count(.ignored) }
      return nil
    }
    context.ask(query)
    return request
  }

  private mutating func query(
    for received: ReceivedPDU, _ setup: SessionSetup
  ) -> (Query, UserRequest)? {
    switch received.pdu {
    case .login, .pause, .resume, .redirect, .user: return nil
    case .new(let new):
      guard let name = AccountName(new.name), setup.isFit(new.key) else { return nil }
      return (.makeForum(NewAccount(new, name: name, uid: "")), .other)
    case .del(let del): return (.deleteForum(del.key), .other)
    case .message(let message):
      guard let post = Post(message, received, by: key) else { return nil }
      return (.post([post]), .posts(Posting(posts: [post])))
    case .truncate(let truncate):
      return (.truncate(truncate.message), .truncation(truncate.message))
    case .vouch(let vouch):
      guard vouch.subject != key else { return nil }
      if vouch.signature.isZero { return (.revoke(for: vouch.subject), .other) }
      guard login.authenticationKey.verifies(vouch.signature, over: vouch.subject) else {
        return nil
      }
      return (.vouch(for: vouch.subject, signature: nil), .other)
    case .vouchers(let vouchers):
      guard vouchers.vouchers.isEmpty else { return nil }
      return (.vouchers(of: vouchers.subject), .vouchers(of: vouchers.subject))
    case .searchByName(let search):
      return (.find(.name(Version2.TextQuery(search))), .search)
    case .searchByUid(let search): return (.find(.uid(Version2.TextQuery(search))), .search)
    case .searchByKey(let search): return (.find(.key(search.key)), .search)
    case .read(let read): return file(.read, read, received.pdu)
    case .lock(let lock): return file(.lock, lock, received.pdu)
    case .remove(let remove): return file(.remove, remove, received.pdu)
    case .write(let write):
      return file(.write(open(received.data, setup)), write, received.pdu)
    }
  }

  private func file<let type: Int>(
    _ act: FileRequest.Act, _ request: PDU.FileRequest<type>, _ pdu: PDU
  ) -> (Query, UserRequest) {
    let request = FileRequest(act: act, directory: request.directory, filename: request.filename)
    return (.file(request), .file(pdu))
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
