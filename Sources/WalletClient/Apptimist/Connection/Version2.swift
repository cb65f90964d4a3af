internal import ApptimistProtocol
internal import Cryptography

extension DeviceMachine {
  /// Logs in on a connection of version 2, whose `hello` has opened.
  ///
  /// - Parameters:
  ///   - handshake: the connection's, to which the proofs are bound.
  ///   - hello: the service's limits.
  mutating func greeted(_ handshake: Version2.Handshake, _ hello: Version2.Hello) -> [Action] {
    let keys = participant.keys
    var actions: [Action] = []
    if let account {
      let new = Version2Request.new(keys, account.name, uid: account.uid, .closed, over: handshake)
      guard let new else { return [.disconnect] }
      let pdu = Version2.DevicePDU(request: sent.nextNumber(), .new(new))
      actions.append(.send(.version2(pdu, data: account.token)))
    }
    guard let possession = handshake.possession(of: keys.encryption) else { return [.disconnect] }
    let login = Version2.Login(
      user: keys.user, signature: keys.authentication.sign(handshake.login(keys.user)),
      possession: possession, device: cursor.installation,
      flags: options.closesVersion1 ? .closed : [], max: UInt32(options.history),
      epoch: cursor.epoch,
      after: cursor.epoch == 0 ? Version2.Login.acknowledged : cursor.position, head: cursor.head)
    let number = sent.nextNumber()
    actions.append(.send(.version2(Version2.DevicePDU(request: number, .login(login)))))
    if stream.isPaused { actions.append(.send(.version2(Version2.DevicePDU(request: 0, .pause)))) }
    let terms = Version2Terms(handshake: handshake, dataLimit: Int(hello.dataMax))
    state = .joiningVersion2(terms, login: number)
    return actions
  }

  /// Sends a request, or returns nil if there is no room for it.
  mutating func sendVersion2(_ id: UInt64, _ request: DeviceRequest) -> [Action]? {
    guard case .establishedVersion2(let terms) = state else { return nil }
    // With too much data the service would end the connection, again and again.
    guard request.dataLength <= terms.dataLimit,
      let words = Version2Request(request, of: participant, over: terms.handshake)
    else { return [.complete(id, .failure(.unsendable))] }
    guard let number = sent.append(id, request) else { return nil }
    let pdu = Version2.DevicePDU(request: number, words.body)
    return [.send(.version2(pdu, data: words.data))]
  }

  /// Handles a received PDU of version 2.
  ///
  /// - Parameters:
  ///   - pdu: the PDU.
  ///   - data: its data.
  mutating func received(_ pdu: Version2.ServicePDU, data: ArraySlice<UInt8>) -> [Action] {
    switch pdu {
    case .answer(let answer): return accept(answer, data)
    case .redirect(let redirect):
      return [.redirect(String(decoding: redirect.uri.bytes, as: UTF8.self))]
    case .message(let message, let position):
      guard advance(to: position) else { return [.disconnect] }
      let kind = Version2.Sealing.kind(of: data)
      guard message.recipient == participant.user,
        kind != .message || message.to == participant.user
      else { return [] }
      cursor.head = MessageID(of: message, data: data)
      let actions = deliver(message, data, cursor.head)
      return kind == .message ? [.recordSealed(message.from)] + actions : actions
    case .truncate(let id, let position):
      guard advance(to: position) else { return [.disconnect] }
      return deliver(.truncation(id, cursor: cursor))
    // It opens a connection, and doesn't come again.
    case .hello: return [.disconnect]
    }
  }

  /// Goes to the position of an entry; positions rise.
  private mutating func advance(to position: UInt64) -> Bool {
    guard case .establishedVersion2 = state, position > cursor.position else { return false }
    cursor.position = position
    return true
  }

  private mutating func accept(_ answer: Version2.Answer, _ data: ArraySlice<UInt8>) -> [Action] {
    if case .joiningVersion2(let terms, let login) = state {
      return join(answer, terms, login: login)
    }
    // Answers keep the order.
    guard case .establishedVersion2 = state, let oldest = sent.oldest,
      oldest.number == answer.request, let result = oldest.request.result(of: answer, data: data)
    else { return [.disconnect] }
    _ = sent.removeOldest()
    if case .send(let message) = oldest.request,
      case .success(.placed(_, let position)) = answer.result, position != 0
    {
      queuedOwn(message.id)
    }
    return (oldest.id.map { [.complete($0, result)] } ?? []) + sendWaiting()
  }

  /// Handles the answers to `new` and `login`.
  private mutating func join(
    _ answer: Version2.Answer, _ terms: Version2Terms, login: UInt32
  ) -> [Action] {
    switch answer.result {
    // The identity provider can't be reached, or the disk is full: another time.
    case .failure(.internalError): return [.disconnect]
    case .failure(let code): return [.refuse(.accountRefused(code))]
    case .success(.done) where account != nil && answer.request != login: return []
    case .success(.login(let start)) where answer.request == login:
      state = .establishedVersion2(terms)
      account = nil
      var actions: [Action] = [.established]
      if start.flags.contains(.closed) { actions.append(.recordClosed(participant.user)) }
      return actions + begin(start) + sendWaiting()
    case .success: return [.disconnect]
    }
  }

  /// Begins the stream where the service says.
  private mutating func begin(_ start: Version2.Start) -> [Action] {
    let hadCursor = cursor.epoch != 0
    cursor.epoch = start.epoch
    cursor.position = start.start
    // A requested history is no gap.
    let isGap = hadCursor && options.history == 0 && start.start + 1 < start.first
    return isGap ? deliver(.gap(cursor: cursor)) : []
  }
}

/// A request in version 2.
struct Version2Request {
  let body: Version2.DevicePDU.Body
  var data: [UInt8] = []

  /// Encodes a request in version 2.
  ///
  /// - Parameters:
  ///   - request: the request.
  ///   - participant: the user.
  ///   - handshake: the connection's, to which proofs are bound.
  /// - Returns: nil if the service's ephemeral key allows no proof.
  init?(_ request: DeviceRequest, of participant: Participant, over handshake: Version2.Handshake) {
    switch request {
    case .send(let message):
      body = .message(message.header)
      data = message.box
    case .truncate(let message): body = .truncate(PDU.Truncate(message: message))
    case .search(.name(let text), let page):
      body = .searchByName(Version2.TextQuery(text: text, page: page))
    case .search(.uid(let text), let page):
      body = .searchByUid(Version2.TextQuery(text: text, page: page))
    case .search(.key(let key), _): body = .searchByKey(PDU.SearchByKey(key: key))
    case .vouch(let subject, let isTakenBack):
      let signed = Version2.vouch(
        for: subject, by: participant.user, at: participant.service.encryptionKey)
      let signature = isTakenBack ? Signature() : participant.keys.authentication.sign(signed)
      body = .vouch(PDU.Vouch(subject: subject, signature: signature))
    case .vouchers(let subject, let page):
      body = .vouchers(Version2.VouchersQuery(subject: subject, page: page))
    case .file(let action, let directory, let name):
      let query = Version2.FileQuery(directory: directory, filename: name.bytes)
      switch action {
      case .read: body = .read(query)
      case .lock: body = .lock(query)
      case .remove: body = .remove(query)
      case .write(let content):
        body = .write(query)
        data = content
      }
    case .makeForum(let name, let keys, let flags):
      guard let new = Self.new(keys, name, flags, over: handshake) else { return nil }
      body = .new(new)
    case .deleteForum(let key): body = .del(PDU.Del(key: key))
    case .push(let binding):
      body = .push(Version2.Push(binding))
      data = binding?.data ?? []
    case .join(let forum): body = .join(forum)
    case .leave:
      body = .leave(participant.keys.authentication.sign(handshake.leave(participant.user)))
    }
  }

  /// Makes the PDU that makes an account, with its proofs.
  static func new(
    _ keys: DeviceKeys, _ name: AccountName, uid: ShortBytes = .empty, _ flags: Version2.Flags,
    over handshake: Version2.Handshake
  ) -> Version2.New? {
    guard let possession = handshake.possession(of: keys.encryption) else { return nil }
    let signed = handshake.new(keys.user, keys.authentication.publicKey)
    return Version2.New(
      key: keys.user, authenticationKey: keys.authentication.publicKey,
      signature: keys.authentication.sign(signed), possession: possession, flags: flags,
      name: name.bytes, uid: uid)
  }
}

extension DeviceRequest {
  /// Interprets version 2's answer to the request.
  ///
  /// - Returns: nil if the answer doesn't belong to this request.
  func result(
    of answer: Version2.Answer, data: ArraySlice<UInt8>
  ) -> Result<DeviceReply, DeviceError>? {
    switch answer.result {
    case .failure(let code): failure(code)
    case .success(let content): reply(content, data).map { .success($0) }
    }
  }

  private func reply(
    _ content: Version2.Answer.Content, _ data: ArraySlice<UInt8>
  ) -> DeviceReply? {
    switch (self, content) {
    case (.send, .placed), (.truncate, .placed): .done
    case (.search, .page(let page)):
      Version2.User.list(page.count, in: data).map {
        .users($0.map { DeviceUser($0) }, next: page.next)
      }
    case (.vouchers, .page(let page)):
      Version2.Voucher.list(page.count, in: data).map { .vouchers($0, next: page.next) }
    case (.file(.read, _, _), .done), (.file(.lock, _, _), .done): .content(Array(data))
    case (.vouch, .done), (.file, .done), (.makeForum, .done), (.deleteForum, .done),
      (.push, .done), (.leave, .done), (.join, .done):
      .done
    default: nil
    }
  }

  private func failure(_ code: ErrorCode) -> Result<DeviceReply, DeviceError> {
    switch (self, code) {
    case (.send, .notFound), (.vouch, .notFound): .failure(.unknownUser)
    case (.truncate, .notFound): .failure(.unknownMessage)
    // Nobody vouches for a key that nobody has.
    case (.vouchers, .notFound): .success(.vouchers([], next: Version2.Cursor()))
    case (.file, _): .failure(.file(code, code.description))
    case (.makeForum, .keyTaken), (.makeForum, .notPermitted), (.deleteForum, .notFound),
      (.deleteForum, .notPermitted):
      .failure(.forumRefused)
    default: .failure(.service(code))
    }
  }
}

/// The boxes of version 2, from its handshake on.
final class Version2Wire: DeviceWire {
  private let service: ServiceIdentity
  /// The ephemeral pair, until the keys are made.
  private var ephemeral: EncryptionKeyPair?
  private var channel: Version2.Channel?

  init(_ ephemeral: EncryptionKeyPair, _ service: ServiceIdentity) {
    self.ephemeral = ephemeral
    self.service = service
  }

  func seal(_ pdu: OutgoingPDU) throws -> [UInt8] {
    guard case .version2(let header, let data) = pdu,
      let message = channel?.seal(header, data: data)
    else { throw ProtocolViolation.malformed }
    return message
  }

  func open(_ message: [UInt8]) throws -> IncomingPDU? {
    if let ephemeral { return try greeting(message, ephemeral) }
    guard let (pdu, data) = try? open(message[...]) else { throw ProtocolViolation.malformed }
    return pdu.map { .version2($0, data: data) }
  }

  /// Opens the first message, which only the owner of the service's secret key can make.
  private func greeting(_ message: [UInt8], _ ephemeral: EncryptionKeyPair) throws -> IncomingPDU {
    self.ephemeral = nil
    guard let first = Version2.FirstMessage(message) else { throw ProtocolViolation.otherService }
    let handshake = Version2.Handshake(
      with: service, device: ephemeral.publicKey, service: first.service, offer: .version2)
    channel = handshake.deviceChannel(ephemeral, with: service)
    guard case .hello(let hello)? = try? open(first.box).pdu else {
      throw ProtocolViolation.otherService
    }
    return .hello(handshake, hello)
  }

  private func open(
    _ box: ArraySlice<UInt8>
  ) throws -> (pdu: Version2.ServicePDU?, data: ArraySlice<UInt8>) {
    guard let bytes = channel?.open(box) else { throw ProtocolViolation.malformed }
    let frame = try Version2.ClearFrame(bytes, limits: nil)
    return (try Version2.ServicePDU.decode(frame.header), frame.data)
  }
}
