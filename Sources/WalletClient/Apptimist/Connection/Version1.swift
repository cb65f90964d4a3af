internal import ApptimistProtocol
internal import Cryptography

extension DeviceMachine {
  /// Logs in on a connection of version 1 that was made.
  mutating func connected() -> [Action] {
    let keys = participant.keys
    var pdus: [PDU] = []
    if let account {
      guard let token = ShortBytes(account.token) else { return [.refuse(.unsendable)] }
      let new = PDU.New(
        key: keys.user, authenticationKey: keys.authentication.publicKey, name: account.name.bytes,
        uid: account.uid, token: token)
      pdus.append(.new(new))
    }
    let signature = keys.authentication.sign(keys.user)
    pdus.append(
      .login(
        PDU.Login(user: keys.user, signature: signature, max: options.history, head: cursor.head)))
    if stream.isPaused { pdus.append(.pause(PDU.Pause())) }
    // The service replies only to a device that is logged in.
    pdus.append(.searchByKey(PDU.SearchByKey(key: keys.user)))
    state = .joining(.user(keys.user))
    return pdus.map { .send(.version1($0)) }
  }

  /// Sends a request, or returns nil if there is no room for it.
  mutating func sendVersion1(_ id: UInt64, _ request: DeviceRequest) -> [Action]? {
    guard let words = Version1Request(request, of: participant) else {
      return [.complete(id, .failure(.service(.noSuchType)))]
    }
    guard sent.append(id, request, expecting: words.reply) != nil else { return nil }
    return words.parts.map { .send(.version1($0.pdu, data: $0.data)) }
  }

  /// Handles a received PDU of version 1.
  ///
  /// - Parameters:
  ///   - pdu: the PDU.
  ///   - data: its data, boxed.
  mutating func received(_ pdu: PDU, data: ArraySlice<UInt8>) -> [Action] {
    switch pdu {
    case .message(let message):
      guard message.recipient == participant.user else { return [] }
      cursor.head = MessageID(of: message, data: data)
      return deliver(message, data, cursor.head)
    case .truncate(let truncation):
      return sent.acceptEcho(truncation.message)
        ? [] : deliver(.truncation(truncation.message, cursor: cursor))
    case .redirect(let redirect): return [.redirect(String(decoding: redirect.uri, as: UTF8.self))]
    case .user, .vouchers, .read, .lock, .write, .remove: return acceptReply(pdu, data)
    case .login, .new, .del, .pause, .resume, .vouch, .searchByName, .searchByUid, .searchByKey:
      // No service sends these today.
      return []
    }
  }

  private mutating func acceptReply(_ pdu: PDU, _ data: ArraySlice<UInt8>) -> [Action] {
    if case .joining(var reply) = state {
      // There is no other request, and the login was with the key of an account.
      guard case .complete(let found) = reply.accept(pdu, data), found != .users([]) else {
        return [.disconnect]
      }
      state = .established
      account = nil
      return [.established] + sendWaiting()
    }
    switch sent.accept(pdu, data) {
    case .incomplete: return []
    case .mismatch: return [.disconnect]
    case .complete(let reply):
      let done = sent.removeOldest()
      let completion = done.id.map {
        [Action.complete($0, done.request.result(of: reply, for: participant))]
      }
      return (completion ?? []) + sendWaiting()
    }
  }
}

/// A request in version 1: the PDUs to send, and the kind of reply that ends it.
///
/// Many PDUs of version 1 have no reply. The service does everything in order, so a search is sent after such a PDU: its
/// reply shows that the PDU before it was carried out, and is on disk.
struct Version1Request {
  /// A PDU and its boxed data.
  struct Part: Equatable {
    let pdu: PDU
    var data: [UInt8] = []
  }

  let parts: [Part]
  /// The reply that ends the request, before any of it has come.
  let reply: PartialReply

  /// Encodes a request in version 1, or returns nil if that version has no such request.
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
    self.parts = parts
    self.reply = reply
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

  /// Makes a request of a PDU that has no reply, followed by a request for a forum's author.
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
  /// Interprets version 1's reply to the request.
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

/// The service's reply to a ``Version1Request``.
enum Version1Reply: Equatable {
  case users([PDU.User])
  case vouchers([EncryptionPublicKey])
  case file(ErrorCode, box: [UInt8])
  case truncated(Bool)
}

/// The reply to a request, as far as it has come.
enum PartialReply {
  /// One `user`: this one, or nobody.
  case user(EncryptionPublicKey)
  /// `user`s, the last of which says that none follows, and those that have come.
  case users([PDU.User] = [])
  /// `vouchers` for this subject.
  case vouchers(EncryptionPublicKey)
  /// The PDU of the same type for the same file.
  case file(PDU)
  /// The echo of a truncation, unless the message was never there, and then this `user`.
  case truncation(MessageID, EncryptionPublicKey, isEchoed: Bool = false)

  /// The result of giving a PDU to a reply.
  enum Progress: Equatable {
    /// More PDUs belong to the reply.
    case incomplete
    case complete(Version1Reply)
    /// The PDU doesn't belong to the reply.
    case mismatch
  }

  /// Records the echo of a truncation.
  ///
  /// - Returns: whether the echo belongs to this reply.
  mutating func acceptEcho(_ message: MessageID) -> Bool {
    guard case .truncation(message, let user, _) = self else { return false }
    self = .truncation(message, user, isEchoed: true)
    return true
  }

  /// Adds a PDU to the reply.
  ///
  /// - Parameters:
  ///   - pdu: the PDU.
  ///   - data: its data, boxed.
  mutating func accept(_ pdu: PDU, _ data: ArraySlice<UInt8>) -> Progress {
    if case .users(let users) = self, case .user(let user) = pdu {
      return accept(user, after: users)
    }
    switch (self, pdu) {
    case (.user(let key), .user(let user)):
      guard Self.isFinding(user, of: key) else { return .mismatch }
      return .complete(.users(user.key.isZero ? [] : [user]))
    case (.truncation(_, let key, let isEchoed), .user(let user)):
      return Self.isFinding(user, of: key) ? .complete(.truncated(isEchoed)) : .mismatch
    case (.vouchers(let subject), .vouchers(let found)) where found.subject == subject:
      return .complete(.vouchers(found.vouchers))
    case (.file(.read(let query)), .read(let reply)): return Self.check(query, reply, data)
    case (.file(.lock(let query)), .lock(let reply)): return Self.check(query, reply, data)
    case (.file(.write(let query)), .write(let reply)): return Self.check(query, reply, data)
    case (.file(.remove(let query)), .remove(let reply)): return Self.check(query, reply, data)
    default: return .mismatch
    }
  }

  private mutating func accept(_ user: PDU.User, after users: consuming [PDU.User]) -> Progress {
    if let last = users.last, user.count != last.count - 1 { return .mismatch }
    // Otherwise the array would be copied for each user.
    self = .users()
    users.append(user)
    guard user.count == 0 else {
      self = .users(users)
      return .incomplete
    }
    return .complete(.users(users.filter { !$0.key.isZero }))
  }

  /// Returns whether a `user` is the whole reply to the search for a key.
  private static func isFinding(_ user: PDU.User, of key: EncryptionPublicKey) -> Bool {
    user.count == 0 && (user.key == key || user.key.isZero)
  }

  private static func check<let type: Int>(
    _ query: PDU.FileRequest<type>, _ reply: PDU.FileRequest<type>, _ data: ArraySlice<UInt8>
  ) -> Progress {
    reply == query.reply(reply.error)
      ? .complete(.file(reply.error, box: Array(data))) : .mismatch
  }
}

/// The boxes around the headers of version 1.
final class Version1Wire: DeviceWire {
  private var channel: HeaderChannel
  private let limits: Frame.Limits

  /// The longest header that a service sends: 32,000 vouchers.
  private static let headerLimit = 38 + 32_000 * EncryptionPublicKey.byteCount

  /// Returns nil if the service's key is of low order.
  init?(_ ephemeral: EncryptionKeyPair, _ service: ServiceIdentity, dataLimit: Int) {
    limits = Frame.Limits(header: Self.headerLimit, data: dataLimit)
    let channel = HeaderChannel(
      own: ephemeral, peer: service.encryptionKey, dataNonce: service.dataNonce)
    guard let channel else { return nil }
    self.channel = channel
  }

  func seal(_ pdu: OutgoingPDU) throws -> [UInt8] {
    guard case .version1(let header, let data) = pdu else { throw ProtocolViolation.malformed }
    return try channel.seal(header, data: data[...])
  }

  func open(_ message: [UInt8]) throws -> IncomingPDU? {
    guard let frame = try? Frame(message, limits: limits), let header = try? channel.open(frame)
    else { throw ProtocolViolation.malformed }
    do throws(PDUError) {
      return .version1(try PDU(decoding: header), data: frame.eData)
    } catch {
      guard case .unknownType = error else { throw ProtocolViolation.malformed }
      return nil
    }
  }
}
