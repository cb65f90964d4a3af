internal import ApptimistProtocol
internal import Cryptography
internal import Platform

/// A ``Device``'s decisions, without I/O: logging in, requests and their replies in order, the stream, and the ends of
/// connections. Two extensions have what differs between the versions.
struct DeviceMachine {
  /// An action that the device carries out, in order.
  enum Action: Equatable {
    case send(OutgoingPDU)
    /// End a request.
    case complete(UInt64, Result<DeviceReply, DeviceError>)
    /// Keep an entry of the stream until it is read.
    case deliver(DeviceEntry)
    /// Report that the service has let the device in.
    case established
    /// Remember that an account is closed to version 1.
    case recordClosed(EncryptionPublicKey)
    /// Remember that a user seals in version 2.
    case recordSealed(EncryptionPublicKey)
    /// End the connection: the service refuses the account.
    case refuse(DeviceError)
    /// End the connection, and make another.
    case disconnect
    /// End the connection, and make another to this address.
    case redirect(String)
  }

  enum State {
    case offline
    /// The device logs in, in version 1: the reply says whether the service knows the user.
    case joining(PartialReply)
    case established
    /// The device logs in, in version 2, with a request of this number.
    case joiningVersion2(Version2Terms, login: UInt32)
    case establishedVersion2(Version2Terms)
  }

  /// The terms of a connection of version 2.
  struct Version2Terms {
    let handshake: Version2.Handshake
    /// The longest data that the service accepts, in bytes.
    let dataLimit: Int
  }

  let participant: Participant
  let options: DeviceOptions
  /// The account to be made at the next login, until the service has let the device in.
  var account: NewAccount?
  /// The cursor after the last received entry.
  var cursor: DeviceCursor
  var state = State.offline
  /// The requests that were sent on this connection.
  var sent = SentRequests()
  private(set) var stream: StreamFlow
  private let recent = RecentValues<MessageID, Void>(limit: 20_000)
  /// The requests that were not sent on this connection.
  private var waiting: [(id: UInt64, request: DeviceRequest)] = []

  /// Makes a machine without a connection.
  ///
  /// - Parameters:
  ///   - participant: the user.
  ///   - account: the account to be made first, or nil if there is one.
  ///   - cursor: where the app is in the stream.
  ///   - options: limits.
  init(
    _ participant: Participant, account: NewAccount?, cursor: DeviceCursor, _ options: DeviceOptions
  ) {
    self.participant = participant
    self.account = account
    self.cursor = cursor
    self.options = options
    stream = StreamFlow(limit: options.streamBuffer)
    // The cursor's own message must not be delivered again.
    recent.insert((), for: cursor.head)
  }

  var isEstablished: Bool {
    switch state {
    case .established, .establishedVersion2: true
    case .offline, .joining, .joiningVersion2: false
    }
  }

  /// True if the service sends on although it was told to pause: then nothing more is read.
  var isOverfull: Bool { stream.isOverfull }

  // MARK: - Connection

  /// Records that the connection is gone. Requests that may be repeated will be, behind the next login.
  mutating func disconnected() -> [Action] {
    let awaited = sent.awaited
    state = .offline
    sent = SentRequests()
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

  /// Records that nobody waits for a request any more.
  mutating func abandon(_ id: UInt64) {
    waiting.removeAll { $0.id == id }
    sent.abandon(id)
  }

  mutating func sendWaiting() -> [Action] {
    var actions: [Action] = []
    while let (id, request) = waiting.first, let sending = send(id, request) {
      actions += sending
      waiting.removeFirst()
    }
    return actions
  }

  /// Sends a request, or returns nil if there is no room for it.
  private mutating func send(_ id: UInt64, _ request: DeviceRequest) -> [Action]? {
    switch state {
    case .offline, .joining, .joiningVersion2: nil
    case .established: sendVersion1(id, request)
    case .establishedVersion2: sendVersion2(id, request)
    }
  }

  // MARK: - The stream

  /// Delivers a message, unless it came before. The cursor is after it already.
  mutating func deliver(
    _ message: PDU.Message, _ data: ArraySlice<UInt8>, _ id: MessageID
  ) -> [Action] {
    guard recent.insert((), for: id) else { return [] }
    return deliver(.message(DeviceMessage(message, data: data, id: id, cursor: cursor)))
  }

  /// Delivers an entry.
  mutating func deliver(_ entry: DeviceEntry) -> [Action] {
    [.deliver(entry)] + announce(stream.came(entry))
  }

  /// Records a message that this device has queued for the user's own devices.
  func queuedOwn(_ id: MessageID) { recent.insert((), for: id) }

  /// Records that the app has read an entry.
  mutating func consumed(_ entry: DeviceEntry) -> [Action] { announce(stream.consumed(entry)) }

  /// Records that the app has stored the stream up to a cursor. Only version 2 can acknowledge it.
  mutating func stored(_ stored: DeviceCursor) -> [Action] {
    guard case .establishedVersion2 = state, stored.epoch == cursor.epoch,
      stored.position <= cursor.position
    else { return [] }
    let ack = Version2.Ack(position: stored.position)
    return [.send(.version2(Version2.DevicePDU(request: 0, .ack(ack))))]
  }

  /// Pauses the stream, or goes on with it, as the app wants.
  mutating func setPaused(_ isPaused: Bool) -> [Action] { announce(stream.setPaused(isPaused)) }

  /// Sends a pause or its end, unless the next login says so.
  private func announce(_ isPaused: Bool?) -> [Action] {
    guard let isPaused else { return [] }
    switch state {
    case .offline: return []
    case .joining, .established:
      return [.send(.version1(isPaused ? .pause(PDU.Pause()) : .resume(PDU.Resume())))]
    case .joiningVersion2, .establishedVersion2:
      return [.send(.version2(Version2.DevicePDU(request: 0, isPaused ? .pause : .resume)))]
    }
  }
}

/// The message stream of a ``Device``.
public struct DeviceEntries: AsyncSequence, AsyncIteratorProtocol, Sendable {
  /// The element of the sequence: an entry of the stream.
  public typealias Element = DeviceEntry
  /// The sequence ends without an error, which ``Device/run()`` throws.
  public typealias Failure = Never

  let device: Device

  /// Returns the sequence, which is its own iterator. The iterators of one device share the entries.
  public func makeAsyncIterator() -> DeviceEntries { self }

  /// Returns the next entry.
  ///
  /// - Parameter actor: the actor on which the call runs.
  /// - Returns: the entry, or nil when the device has stopped or the task is cancelled.
  public func next(isolation actor: isolated (any Actor)? = #isolation) async -> DeviceEntry? {
    await device.nextEntry()
  }
}
