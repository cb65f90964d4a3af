internal import ApptimistProtocol
internal import Cryptography

// The stream, sending, and the end.
extension Session {
  /// Sends an entry of the stream, if it is known not to be this session's own.
  ///
  /// - Returns: whether it was sent.
  @discardableResult
  mutating func deliver(_ entry: StreamEntry) -> Bool {
    guard phase == .established else { return false }
    if mayBeOwn(entry) {
      stream?.hold()
      return false
    }
    // Before it is sent: a session that ends with it has sent it.
    stream?.pass(entry.position)
    switch entry.content {
    case .message(let header, let data):
      send(try? channel.seal(header: header, data: data[...]))
      setup.note(.delivered)
    case .truncation: send(.truncate(PDU.Truncate(message: entry.id)))
    }
    return true
  }

  /// Whether the entry may be what the open question is making.
  func mayBeOwn(_ entry: StreamEntry) -> Bool {
    switch (request, entry.content) {
    case (.posts(let posts), .message(let header, _)):
      guard case .message(let message)? = try? PDU(decoding: header) else { return false }
      // A copy from a forum differs in its recipient.
      return posts.contains {
        $0.from == message.from && $0.to == message.to && $0.time == message.time
      }
    case (.truncate(let id), .truncation): return entry.id == id
    default: return false
    }
  }

  mutating func send(_ pdu: PDU, _ data: [UInt8] = []) {
    guard isOpen else { return }
    send(try? channel.seal(pdu, data: data[...]))
  }

  /// Sends a sealed PDU; ends the session if that took the last counter.
  mutating func send(_ message: [UInt8]?) {
    guard let message else { return close(1001) }
    setup.note(.sent)
    actions.append(.send(message))
    if channel.isWornOut { redirect(to: setup.uri) }
  }

  /// Whether PDUs go in both directions.
  var isOpen: Bool { phase == .joining || phase == .established }

  /// Ends a session whose counters are used up, once the last PDU that came is dealt with.
  mutating func endIfWornOut() {
    guard request == nil, isOpen, channel.isWornOut else { return }
    redirect(to: setup.uri)
  }

  mutating func redirect(to uri: String) {
    if let pdu = PDU.Redirect(uri: uri), let message = try? channel.seal(.redirect(pdu)) {
      setup.note(.redirected)
      actions.append(.send(message))
    }
    close(1001)
  }

  /// Refuses what broke the protocol: after the login at once, before it after a silence, so that
  /// nobody learns anything by trying.
  mutating func refuse() {
    setup.note(.refused)
    guard phase != .established else { return close(1008) }
    phase = .refused
    request = nil
    actions.append(.wait(setup.silence))
  }

  mutating func close(_ code: UInt16) {
    postponed = nil
    end()
    actions.append(.close(code))
  }

  /// Nothing more is received or sent; the posts that came before are still queued.
  mutating func end() {
    if case .posts = request {
      phase = .left
    } else {
      phase = .closed
      request = nil
    }
  }

  mutating func takeActions() -> [SessionAction] {
    defer { actions = [] }
    return actions
  }
}
