internal import ApptimistProtocol
internal import Cryptography

/// A request in the words of version 2.
struct Version2Request {
  let body: Version2.DevicePDU.Body
  var data: [UInt8] = []

  /// Puts a request into the words of version 2.
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
  /// Understands version 2's answer to the request.
  ///
  /// - Returns: nil if the answer is none to this request.
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
