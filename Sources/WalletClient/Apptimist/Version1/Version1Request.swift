internal import ApptimistProtocol
internal import Cryptography

/// A request in the words of version 1: the PDUs to send, and the kind of reply that ends it.
///
/// Much of version 1 has no reply. Since the service does everything in order, a search is sent behind such a PDU: its
/// reply tells that what came before it is done, on disk.
struct Version1Request {
  /// A PDU and its boxed data.
  struct Part: Equatable {
    let pdu: PDU
    var data: [UInt8] = []
  }

  let parts: [Part]
  /// The reply that ends the request, before any of it has come.
  let reply: PartialReply

  /// Puts a request into the words of version 1, or returns nil if it has none for it.
  init?(_ request: DeviceRequest, of participant: Participant) {
    switch request {
    case .send(let message):
      self.init(.message(message.header), data: message.box, then: message.to)
    case .truncate(let message):
      let truncate = Part(pdu: .truncate(PDU.Truncate(message: message)))
      self.init(
        [truncate, .search(participant.user)], expecting: .truncation(message, participant.user))
    case .search(let search, let page):
      let pdu: PDU =
        switch search {
        case .name(let text): .searchByName(PDU.SearchByName(maxUsers: page.max, text: text))
        case .uid(let text): .searchByUid(PDU.SearchByUid(maxUsers: page.max, text: text))
        case .key(let key): .searchByKey(PDU.SearchByKey(key: key))
        }
      self.init([Part(pdu: pdu)], expecting: .users())
    case .vouch(let subject, let isTakenBack):
      let signature = isTakenBack ? Signature() : participant.keys.authentication.sign(subject)
      self.init(.vouch(PDU.Vouch(subject: subject, signature: signature)), then: subject)
    case .vouchers(let subject, _):
      let query = Part(pdu: .vouchers(PDU.Vouchers(subject: subject, vouchers: [])))
      self.init([query], expecting: .vouchers(subject))
    case .file(let action, let directory, let name):
      self.init(action, directory, name, participant)
    case .makeForum(let name, let keys, _):
      let new = PDU.New(
        key: keys.user, authenticationKey: keys.authentication.publicKey, name: name.bytes,
        uid: .empty, token: .empty)
      self.init(.new(new), thenAuthorOf: keys.user)
    case .deleteForum(let key): self.init(.del(PDU.Del(key: key)), thenAuthorOf: key)
    case .push, .leave, .join: return nil
    }
  }

  private init(_ parts: [Part], expecting reply: PartialReply) {
    (self.parts, self.reply) = (parts, reply)
  }

  private init(
    _ action: DeviceRequest.FileAction, _ directory: EncryptionPublicKey, _ name: Filename,
    _ participant: Participant
  ) {
    var data: [UInt8] = []
    let pdu: PDU
    switch action {
    case .read: pdu = .read(PDU.Read(directory: directory, filename: name.bytes))
    case .lock: pdu = .lock(PDU.Lock(directory: directory, filename: name.bytes))
    case .remove: pdu = .remove(PDU.Remove(directory: directory, filename: name.bytes))
    case .write(let content):
      pdu = .write(PDU.Write(directory: directory, filename: name.bytes))
      data = participant.seal(file: content)
    }
    parts = [Part(pdu: pdu, data: data)]
    reply = .file(pdu)
  }

  /// Makes a request of a PDU without a reply and a search for a user behind it.
  private init(_ pdu: PDU, data: [UInt8] = [], then key: EncryptionPublicKey) {
    parts = [Part(pdu: pdu, data: data), Part.search(key)]
    reply = .user(key)
  }

  /// Makes a request of a PDU that has no reply, and behind it asks who a forum's author is.
  private init(_ pdu: PDU, thenAuthorOf forum: EncryptionPublicKey) {
    let read = PDU.read(PDU.Read(directory: forum, filename: Filename(.author).bytes))
    parts = [Part(pdu: pdu), Part(pdu: read)]
    reply = .file(read)
  }
}

extension Version1Request.Part {
  fileprivate static func search(_ key: EncryptionPublicKey) -> Self {
    Self(pdu: .searchByKey(PDU.SearchByKey(key: key)))
  }
}

extension DeviceRequest {
  /// Understands version 1's reply to the request.
  func result(
    of reply: Version1Reply, for participant: Participant
  ) -> Result<DeviceReply, DeviceError> {
    switch (self, reply) {
    case (.send, .users(let users)), (.vouch, .users(let users)):
      users.isEmpty ? .failure(.unknownUser) : .success(.done)
    case (.truncate, .truncated(let isThere)):
      isThere ? .success(.done) : .failure(.unknownMessage)
    case (.search, .users(let users)):
      .success(.users(users.compactMap { DeviceUser($0) }, next: Version2.Cursor()))
    case (.vouchers, .vouchers(let keys)):
      .success(
        .vouchers(
          keys.map {
            Version2.Voucher(
              voucher: $0, authenticationKey: AuthenticationPublicKey(), signature: Signature())
          }, next: Version2.Cursor()))
    case (.file(.read, _, _), .file(.done, let box)), (.file(.lock, _, _), .file(.done, let box)):
      participant.open(file: box).map { .success(.content($0)) } ?? .failure(.doesNotOpen)
    case (.file, .file(.done, _)): .success(.done)
    case (.file, .file(let code, let box)):
      .failure(.file(code, String(decoding: participant.open(file: box) ?? [], as: UTF8.self)))
    // Another's forum as a rule lets nobody else read it.
    case (.makeForum, .file(let code, let box)):
      code == .done && participant.open(file: box) == participant.user.bytes
        ? .success(.done) : .failure(.forumRefused)
    case (.deleteForum, .file(let code, _)):
      code == .notFound ? .success(.done) : .failure(.forumRefused)
    default: .failure(.doesNotOpen)
    }
  }
}
