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
        PDU.Login(user: keys.user, signature: signature, max: options.history, head: place.head)))
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

  /// Takes a PDU of version 1 that came.
  ///
  /// - Parameters:
  ///   - pdu: the PDU.
  ///   - data: its data, boxed.
  mutating func received(_ pdu: PDU, data: ArraySlice<UInt8>) -> [Action] {
    switch pdu {
    case .message(let message):
      guard message.recipient == participant.user else { return [] }
      place.head = MessageID(of: message, data: data)
      return deliver(message, data, place.head)
    case .truncate(let truncation):
      return sent.acceptEcho(truncation.message)
        ? [] : deliver(.truncation(truncation.message, place: place))
    case .redirect(let redirect): return [.redirect(String(decoding: redirect.uri, as: UTF8.self))]
    case .user, .vouchers, .read, .lock, .write, .remove: return acceptReply(pdu, data)
    case .login, .new, .del, .pause, .resume, .vouch, .searchByName, .searchByUid, .searchByKey:
      // No service sends these today.
      return []
    }
  }

  private mutating func acceptReply(_ pdu: PDU, _ data: ArraySlice<UInt8>) -> [Action] {
    if case .joining(var reply) = state {
      // Nothing else has been asked, and the login was under a key that somebody has.
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
