public import ApptimistProtocol
public import Cryptography
internal import HTTPProtocol
internal import Platform
public import HTTPClient

/// A user's device at an Apptimist service: one account, one connection that is made again whenever it breaks.
///
/// Run it in a task of its own. Everything else waits until it is connected, and survives reconnections.
///
/// ```swift
/// let device = try Device(keys: keys, service: pin, url: url, cursor: savedCursor)
/// let running = Task { try await device.run() }
/// for await entry in device.entries { … }
/// ```
///
/// The guide *An Apptimist device* has the details.
public actor Device {
  /// The state of the connection.
  public enum State: Sendable, Hashable {
    /// There is no connection; another attempt follows by itself.
    case offline
    /// The service has let the device in.
    case established
  }

  /// The user's public encryption key, which identifies the user.
  public nonisolated let user: EncryptionPublicKey
  /// The service that the app trusts.
  public nonisolated let service: ServiceIdentity
  /// The service's address.
  public nonisolated let url: WebSocketURL

  nonisolated let participant: Participant
  nonisolated let options: DeviceOptions
  /// The memory of other accounts, and of the posts that were opened.
  var known: KnownAccounts
  let posts = RecentPosts()
  /// The address of the connection, or of the last one.
  private var currentURL: WebSocketURL
  private let client: WebSocketClient
  private let onState: @Sendable (State) -> Void
  private let onLearned: @Sendable (KnownAccount) -> Void
  private var pin: ServicePin
  private var reconnection: Reconnection
  private var machine: DeviceMachine
  private var stage = Stage.idle
  private var lastNumber: UInt64 = 0
  private var replies: [UInt64: CheckedContinuation<Reply, Never>] = [:]
  /// The part of the stream that the app has not read yet.
  private var waitingEntries = FIFO<DeviceEntry>()
  /// The tasks that wait for entries to come, and the one that waits for them to be read.
  private var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]

  private typealias Reply = Result<DeviceReply, DeviceError>

  private enum Stage {
    /// ``run()`` was not called yet.
    case idle
    /// ``run()`` is between two connections.
    case connecting
    case connected(DeviceConnection)
    /// The connection was given up, for another address if the service named one.
    case leaving(to: WebSocketURL?)
    /// The connection was given up, as the service refuses the device.
    case refused(DeviceError)
    /// ``run()`` has ended.
    case over
  }

  /// Makes a device that isn't connected yet.
  ///
  /// - Parameters:
  ///   - keys: the user's pairs.
  ///   - service: the service's keys, as they came with the app, and the versions that may be spoken.
  ///   - url: the service's address; a query is replaced.
  ///   - account: the account to be made first, or nil if there is one already. Naming it again does no harm, but in
  ///     version 2 it closes the account to version 1.
  ///   - cursor: the cursor up to which the app has the stream. Without one it begins with all that the service has.
  ///   - known: what `onLearned` was called with before, of each account the last.
  ///   - options: times and limits.
  ///   - client: carries the connection, or nil for a client of the device's own. Its messages must not be limited to
  ///     less than the default.
  ///   - onState: is called when the connection comes and goes, but not when it is ended on request.
  ///   - onLearned: is called with the facts to remember about an account, before anything relies on them. Without it a
  ///     service could take back later that an account is closed to version 1.
  /// - Throws: `.unsendable` if the service's key is the user's; ``WebSocketError`` `.outOfResources`.
  public init(
    keys: DeviceKeys, service: ServicePin, url: WebSocketURL, account: NewAccount? = nil,
    cursor: DeviceCursor = DeviceCursor(), known: [KnownAccount] = [],
    options: DeviceOptions = DeviceOptions(), client: WebSocketClient? = nil,
    onState: @escaping @Sendable (State) -> Void = { _ in },
    onLearned: @escaping @Sendable (KnownAccount) -> Void = { _ in }
  ) throws {
    guard let participant = Participant(keys, at: service.identity) else {
      throw DeviceError.unsendable
    }
    self.participant = participant
    self.service = service.identity
    self.known = KnownAccounts(known)
    pin = service
    self.url = url
    currentURL = url
    reconnection = Reconnection(url, options)
    self.options = options
    self.client = try client ?? WebSocketClient(options.webSocket)
    self.onState = onState
    self.onLearned = onLearned
    user = keys.user
    machine = DeviceMachine(participant, account: account, cursor: cursor, options)
  }

  // MARK: - Running

  /// Connects, again whenever the connection breaks, until the task is cancelled or the service refuses.
  ///
  /// When it ends, all requests fail, and ``entries`` ends. It may be called again.
  ///
  /// - Throws: `.refused`, `.accountRefused`, `.cancelled`, `.runsAlready`.
  public func run() async throws(DeviceError) {
    switch stage {
    case .idle, .over: stage = .connecting
    case .connecting, .connected, .leaving, .refused: throw .runsAlready
    }
    reconnection = Reconnection(url, options)
    var target = url
    while !Task.isCancelled {
      let start = ContinuousClock.now
      let (end, wasEstablished) = await attempt(at: target)
      let now = ContinuousClock.now
      let step = reconnection.next(
        after: end, wasEstablished: wasEstablished, lasting: now - start, at: now)
      switch step {
      case .giveUp(let error):
        stop(error)
        throw error
      case .connect(let next, let delay):
        target = next
        try? await Task.sleep(for: delay)
      }
    }
    stop(.closed)
    throw .cancelled
  }

  private func stop(_ error: DeviceError) {
    stage = .over
    perform(machine.stopped(error))
    wakeWaiters()
  }

  /// Connects once, and stays connected for as long as possible.
  ///
  /// - Returns: the end, and whether the service had let the device in.
  private func attempt(at target: WebSocketURL) async -> (
    end: Reconnection.End, wasEstablished: Bool
  ) {
    let connection: DeviceConnection
    do {
      connection = try await DeviceConnection.open(
        target, pin, client, dataLimit: options.dataLimit)
    } catch is DeviceConnection.OtherVersion {
      return (target == url ? .refused(.refused) : .broken, false)
    } catch {
      guard case .refused(let status)? = (error as? WebSocketError)?.code, target == url,
        (400..<500).contains(status.code)
      else { return (.broken, false) }
      return (.refused(.refused), false)
    }
    stage = .connected(connection)
    currentURL = target
    let helloTimeout = Task {
      try await Task.sleep(for: options.joinTimeout)
      abandonJoining()
    }
    if connection.version == PDU.version { perform(machine.connected()) }
    await receive(from: connection)
    helloTimeout.cancel()
    connection.close(1000)
    let departure = stage
    stage = .connecting
    let wasEstablished = machine.isEstablished
    perform(machine.disconnected())
    if wasEstablished, !Task.isCancelled { onState(.offline) }
    switch departure {
    case .leaving(let target?): return (.redirected(target), wasEstablished)
    case .refused(let error): return (.refused(error), wasEstablished)
    case .idle, .connecting, .connected, .leaving, .over: break
    }
    switch connection.closeCode {
    case 1008 where !wasEstablished && connection.version == PDU.version:
      return (.refused(.refused), false)
    case 4008: return (.crowdedOut, wasEstablished)
    default: return (.broken, wasEstablished)
    }
  }

  /// Receives PDUs until the connection is over, or not wanted any more.
  private func receive(from connection: DeviceConnection) async {
    while case .connected = stage {
      do {
        guard let received = try await connection.receive() else { return }
        handle(received)
      } catch ProtocolViolation.otherService {
        // At another address, the redirection was bad, and the device's own service may still be right.
        stage = currentURL == url ? .refused(.refused) : .leaving(to: nil)
        return
      } catch { return }
      while machine.isOverfull, !Task.isCancelled { await streamChanged() }
    }
  }

  private func handle(_ received: IncomingPDU) {
    switch received {
    case .version1(let pdu, let data): perform(machine.received(pdu, data: data))
    case .version2(let pdu, let data): perform(machine.received(pdu, data: data))
    case .hello(let handshake, let hello):
      // From now on the service is known to speak it.
      pin.versions = .version2
      perform(machine.greeted(handshake, hello))
    }
  }

  private func abandonJoining() {
    if case .connected(let connection) = stage, !machine.isEstablished { connection.close(1000) }
  }

  /// Carries out the machine's actions. Nothing here waits, so the order stays.
  private func perform(_ actions: [DeviceMachine.Action]) {
    for action in actions {
      switch action {
      case .send(let pdu):
        guard case .connected(let connection) = stage else { break }
        do { try connection.send(pdu) } catch { connection.close(1000) }
      case .complete(let number, let result):
        replies.removeValue(forKey: number)?.resume(returning: result)
      case .deliver(let entry):
        waitingEntries.append(entry)
        wakeWaiters()
      case .established: onState(.established)
      case .recordClosed(let key): remember(known.recordClosed(key))
      case .recordSealed(let key): remember(known.recordSealed(key))
      case .disconnect: leave(1002)
      case .refuse(let error):
        leave(1000)
        stage = .refused(error)
      case .redirect(let text):
        leave(1000, for: reconnection.follow(text, from: currentURL, at: .now))
      }
    }
  }

  /// Reports new facts about an account to the app.
  func remember(_ account: KnownAccount?) { if let account { onLearned(account) } }

  private func leave(_ code: UInt16, for target: WebSocketURL? = nil) {
    guard case .connected(let connection) = stage else { return }
    connection.close(code)
    stage = .leaving(to: target)
  }

  // MARK: - Requests

  /// Sends a request as soon as there is a connection, and waits for the reply.
  func exchange(_ request: DeviceRequest) async throws(DeviceError) -> DeviceReply {
    if case .over = stage { throw .closed }
    let number = nextNumber()
    let replyTimeout = Task {
      try await Task.sleep(for: options.requestTimeout)
      abandon(number, .timedOut)
    }
    defer { replyTimeout.cancel() }
    let result: Reply = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard !Task.isCancelled else { return continuation.resume(returning: .failure(.cancelled)) }
        replies[number] = continuation
        perform(machine.submit(number, request))
      }
    } onCancel: {
      Task { await self.abandon(number, .cancelled) }
    }
    return try result.get()
  }

  private func abandon(_ number: UInt64, _ error: DeviceError) {
    guard let continuation = replies.removeValue(forKey: number) else { return }
    machine.abandon(number)
    continuation.resume(returning: .failure(error))
  }

  private func nextNumber() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }

  // MARK: - The stream

  /// The messages for the user, and truncations, in the service's order, from the head on.
  ///
  /// It ends when ``run()`` does. Several loops over it share the entries. The service pauses while they are read too
  /// slowly.
  public nonisolated var entries: DeviceEntries { DeviceEntries(device: self) }

  /// Has the service pause the stream, or go on with it. Replies are not affected.
  ///
  /// - Parameter isPaused: whether the stream is to pause. Entries that are on their way still come.
  public func setStreamPaused(_ isPaused: Bool) { perform(machine.setPaused(isPaused)) }

  /// Acknowledges to the service that the app has stored the stream up to a cursor. An installation that loses its own
  /// cursor goes on there. In version 1 this does nothing.
  public func stored(_ cursor: DeviceCursor) { perform(machine.stored(cursor)) }

  func nextEntry() async -> DeviceEntry? {
    while true {
      if let entry = waitingEntries.popFirst() {
        let wasOverfull = machine.isOverfull
        perform(machine.consumed(entry))
        if wasOverfull { wakeWaiters() }
        return entry
      }
      if case .over = stage { return nil }
      guard !Task.isCancelled else { return nil }
      await streamChanged()
    }
  }

  /// Waits until entries arrive or are read, for the end, or for the task's cancellation.
  private func streamChanged() async {
    let number = nextNumber()
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard !Task.isCancelled else { return continuation.resume() }
        waiters[number] = continuation
      }
    } onCancel: {
      Task { await self.wakeWaiters() }
    }
  }

  private func wakeWaiters() {
    for waiter in waiters.values { waiter.resume() }
    waiters = [:]
  }
}
