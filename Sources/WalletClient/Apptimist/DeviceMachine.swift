internal import ApptimistProtocol
internal import Cryptography

/// A ``Device``'s decisions, without I/O: logging in, requests and their replies in order, the stream, and the ends of
/// connections.
struct DeviceMachine {
  /// An action that the device carries out, in order.
  enum Action: Equatable {
    case send(PDU, data: [UInt8])
    /// End a request.
    case complete(UInt64, Result<DeviceReply, DeviceError>)
    /// Keep an entry of the stream until it is taken.
    case deliver(StreamEntry)
    /// Report that the service has let the device in.
    case established
    /// End the connection, and make another.
    case disconnect
    /// End the connection, and make another to this address.
    case redirect(String)
  }

  private enum State {
    case offline
    /// The device logs in: the reply says whether the service knows the user.
    case joining(PartialReply)
    case established(RequestsInFlight)

    /// Changes the requests in flight in place.
    ///
    /// - Returns: the closure's result, or nil if the device isn't logged in.
    mutating func withRequests<Result>(_ body: (inout RequestsInFlight) -> Result) -> Result? {
      guard case .established(var requests) = self else { return nil }
      // Otherwise the requests would be copied.
      self = .offline
      defer { self = .established(requests) }
      return body(&requests)
    }
  }

  private let keys: DeviceKeys
  private let history: UInt16
  /// The account to be made at the next login, until the service has let the device in.
  private var account: NewAccount?
  /// The last message that came.
  private var head: MessageID
  private var stream: StreamFlow
  /// The requests that were not sent on this connection.
  private var waiting: [(id: UInt64, request: DeviceRequest)] = []
  private var state = State.offline

  /// Makes a machine without a connection.
  ///
  /// - Parameters:
  ///   - keys: the user's.
  ///   - account: the account to be made first, or nil if there is one.
  ///   - head: the last message that the app has; zero: none.
  ///   - options: limits.
  init(_ keys: DeviceKeys, account: NewAccount?, head: MessageID, _ options: DeviceOptions) {
    self.keys = keys
    self.account = account
    self.head = head
    history = options.history
    stream = StreamFlow(limit: options.streamBuffer)
  }

  var isEstablished: Bool {
    if case .established = state { true } else { false }
  }

  /// Whether the service sends on although it was told to pause: then nothing more is read.
  var isOverfull: Bool { stream.isOverfull }

  // MARK: - Connection

  /// Logs in on a connection that was made.
  mutating func connected() -> [Action] {
    let user = keys.user
    var pdus: [PDU] = []
    if let account {
      let new = PDU.New(
        key: user, authenticationKey: keys.authentication.publicKey, name: account.name.bytes,
        uid: account.uid, token: account.token)
      pdus.append(.new(new))
    }
    let signature = keys.authentication.sign(user)
    pdus.append(.login(PDU.Login(user: user, signature: signature, max: history, head: head)))
    if stream.isPaused { pdus.append(.pause(PDU.Pause())) }
    // The service replies only to a device that is logged in.
    pdus.append(.searchByKey(PDU.SearchByKey(key: user)))
    state = .joining(.user(user))
    return pdus.map { .send($0, data: []) }
  }

  /// Notes that the connection is gone. Requests that may be repeated will be, behind the next login.
  mutating func disconnected() -> [Action] {
    defer { state = .offline }
    guard case .established(let requests) = state else { return [] }
    let awaited = requests.awaited
    waiting.insert(contentsOf: awaited.filter { $0.request.isRepeatable }, at: 0)
    return awaited.filter { !$0.request.isRepeatable }
      .map { .complete($0.id, .failure(.interrupted)) }
  }

  /// Fails all requests, as there will be no further connection.
  mutating func stopped(_ error: DeviceError) -> [Action] {
    let actions = disconnected()
    defer { waiting = [] }
    return actions + waiting.map { .complete($0.id, .failure(error)) }
  }

  // MARK: - Requests

  /// Sends a request as soon as possible.
  ///
  /// - Parameters:
  ///   - id: its number.
  ///   - request: the request.
  mutating func submit(_ id: UInt64, _ request: DeviceRequest) -> [Action] {
    waiting.append((id, request))
    return sendWaiting()
  }

  /// Notes that nobody waits for a request any more.
  mutating func abandon(_ id: UInt64) {
    waiting.removeAll { $0.id == id }
    _ = state.withRequests { $0.abandon(id) }
  }

  private mutating func sendWaiting() -> [Action] {
    var actions: [Action] = []
    var sent = 0
    while sent < waiting.count {
      let next = waiting[sent]
      guard state.withRequests({ $0.append(next.id, next.request) }) == true else { break }
      actions += next.request.parts.map { .send($0.pdu, data: $0.data) }
      sent += 1
    }
    waiting.removeFirst(sent)
    return actions
  }

  // MARK: - PDUs

  /// Takes a PDU that came.
  ///
  /// - Parameters:
  ///   - pdu: the PDU.
  ///   - header: its header in clear.
  ///   - data: its data, boxed.
  mutating func received(_ pdu: PDU, header: [UInt8], data: ArraySlice<UInt8>) -> [Action] {
    switch pdu {
    case .message(let message):
      guard message.recipient == keys.user else { return [] }
      let message = DeviceMessage(message, header: header, data: data)
      head = message.id
      return deliver(.message(message))
    case .truncate(let truncation):
      let isEcho = state.withRequests { $0.takeEcho(truncation.message) } ?? false
      return isEcho ? [] : deliver(.truncation(truncation.message))
    case .redirect(let redirect): return [.redirect(String(decoding: redirect.uri, as: UTF8.self))]
    case .user, .vouchers, .read, .lock, .write, .remove: return takeReply(pdu, data)
    case .login, .new, .del, .pause, .resume, .vouch, .searchByName, .searchByUid, .searchByKey:
      // No service sends these today.
      return []
    }
  }

  private mutating func takeReply(_ pdu: PDU, _ data: ArraySlice<UInt8>) -> [Action] {
    if case .joining(var reply) = state {
      // Nothing else has been asked, and the login was under a key that somebody has.
      guard case .complete(let found) = reply.take(pdu, data), found != .users([]) else {
        return [.disconnect]
      }
      state = .established(RequestsInFlight())
      account = nil
      return [.established] + sendWaiting()
    }
    switch state.withRequests({ $0.take(pdu, data) }) {
    case (.incomplete, _)?: return []
    case (.mismatch, _)?, nil: return [.disconnect]
    case (.complete(let reply), let id)?:
      let completion = id.map { [Action.complete($0, .success(reply))] } ?? []
      return completion + sendWaiting()
    }
  }

  // MARK: - The stream

  private mutating func deliver(_ entry: StreamEntry) -> [Action] {
    [.deliver(entry)] + tell(stream.came(entry))
  }

  /// Notes that the app took an entry.
  mutating func taken(_ entry: StreamEntry) -> [Action] { tell(stream.taken(entry)) }

  /// Pauses the stream, or goes on with it, as the app wants.
  mutating func setPaused(_ isPaused: Bool) -> [Action] { tell(stream.setPaused(isPaused)) }

  /// Sends a pause or its end, unless the next login will tell.
  private func tell(_ pdu: PDU?) -> [Action] {
    guard let pdu else { return [] }
    if case .offline = state { return [] }
    return [.send(pdu, data: [])]
  }
}
