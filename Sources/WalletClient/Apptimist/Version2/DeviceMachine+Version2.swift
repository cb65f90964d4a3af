internal import ApptimistProtocol
internal import Cryptography

extension DeviceMachine {
  /// Logs in on a connection of version 2, whose `hello` has opened.
  ///
  /// - Parameters:
  ///   - handshake: the connection's, to which the proofs are bound.
  ///   - hello: what the service takes.
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
      possession: possession, device: place.installation,
      flags: options.closesVersion1 ? .closed : [], max: UInt32(options.history),
      epoch: place.epoch,
      after: place.epoch == 0 ? Version2.Login.acknowledged : place.position, head: place.head)
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

  /// Takes a PDU of version 2 that came.
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
      place.head = MessageID(of: message, data: data)
      let actions = deliver(message, data, place.head)
      return kind == .message ? [.learnSealed(message.from)] + actions : actions
    case .truncate(let id, let position):
      guard advance(to: position) else { return [.disconnect] }
      return deliver(.truncation(id, place: place))
    // It opens a connection, and doesn't come again.
    case .hello: return [.disconnect]
    }
  }

  /// Goes to the position of an entry; positions rise.
  private mutating func advance(to position: UInt64) -> Bool {
    guard case .establishedVersion2 = state, position > place.position else { return false }
    place.position = position
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

  /// Takes the answers to `new` and `login`.
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
      if start.flags.contains(.closed) { actions.append(.learnClosed(participant.user)) }
      return actions + begin(start) + sendWaiting()
    case .success: return [.disconnect]
    }
  }

  /// Begins the stream where the service says.
  private mutating func begin(_ start: Version2.Start) -> [Action] {
    let hadPlace = place.epoch != 0
    place.epoch = start.epoch
    place.position = start.start
    // A history that was asked for is no gap.
    let isGap = hadPlace && options.history == 0 && start.start + 1 < start.first
    return isGap ? deliver(.gap(place: place)) : []
  }
}
