public import ApptimistProtocol
public import Cryptography
internal import HTTPProtocol

/// A user's device at an Apptimist service: one account, one connection that is made again whenever it breaks.
///
/// Run it in a task of its own. Everything else waits until it is connected, and survives reconnections.
///
/// ```swift
/// let device = try Device(keys: keys, service: identity, url: url, head: savedHead)
/// let running = Task { try await device.run() }
/// for await entry in device.entries { … }
/// ```
///
/// The guide *An Apptimist device* tells the whole story.
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

  let keys: DeviceKeys
  /// The box key between the user and the service, for the content of files.
  let serviceBox: BoxKey
  let options: DeviceOptions
  private let url: WebSocketURL
  private let client: WebSocketClient
  private let onState: @Sendable (State) -> Void
  private var machine: DeviceMachine
  private var stage = Stage.idle
  private var lastNumber: UInt64 = 0
  private var replies: [UInt64: CheckedContinuation<Reply, Never>] = [:]
  /// The part of the stream that nobody has taken yet.
  private var waitingEntries = Queue<StreamEntry>()
  /// The tasks that wait for entries to come, and the one that waits for them to be taken.
  private var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]

  private typealias Reply = Result<DeviceReply, DeviceError>

  private enum Stage {
    /// ``run()`` was not called yet.
    case idle
    /// ``run()`` is between two connections.
    case connecting
    case connected(DeviceConnection)
    /// The connection was given up, for another place if the service named one.
    case leaving(to: WebSocketURL?)
    /// ``run()`` has ended.
    case over
  }

  /// Makes a device that isn't connected yet.
  ///
  /// - Parameters:
  ///   - keys: the user's pairs.
  ///   - service: the service's keys, as they came with the app.
  ///   - url: the service's address; a query is replaced.
  ///   - account: the account to be made first, or nil if there is one already. Naming it again does no harm.
  ///   - head: the identifier of the last message that the app has, or nil if it has none.
  ///   - options: times and limits.
  ///   - client: carries the connection, or nil for a client of the device's own. Its messages must not be limited to
  ///     less than the default.
  ///   - onState: is called when the connection comes and goes, but not when it is ended on request.
  /// - Throws: `.unsendable` if the service's key is the user's; ``WebSocketError`` `.outOfResources`.
  public init(
    keys: DeviceKeys, service: ServiceIdentity, url: WebSocketURL, account: NewAccount? = nil,
    head: MessageID? = nil, options: DeviceOptions = DeviceOptions(),
    client: WebSocketClient? = nil, onState: @escaping @Sendable (State) -> Void = { _ in }
  ) throws {
    guard keys.user != service.encryptionKey,
      let box = BoxKey(own: keys.encryption, peer: service.encryptionKey)
    else { throw DeviceError.unsendable }
    self.keys = keys
    self.service = service
    self.url = url
    self.options = options
    self.client = try client ?? WebSocketClient(options.webSocket)
    self.onState = onState
    user = keys.user
    serviceBox = box
    machine = DeviceMachine(keys, account: account, head: head ?? MessageID(), options)
  }

  // MARK: - Running

  /// Connects, again whenever the connection breaks, until the task is cancelled or the service refuses.
  ///
  /// When it ends, all requests fail, and ``entries`` ends. It may be called again.
  ///
  /// - Throws: `.refused`, `.cancelled`, `.runsAlready`.
  public func run() async throws(DeviceError) {
    switch stage {
    case .idle, .over: stage = .connecting
    case .connecting, .connected, .leaving: throw .runsAlready
    }
    var target = url
    var backoff = Backoff(options)
    var refusals = 0
    var wasEstablished = false
    while !Task.isCancelled {
      let start = ContinuousClock.now
      let attempt = await attempt(at: target)
      let duration = ContinuousClock.now - start
      wasEstablished = wasEstablished || attempt.wasEstablished
      target = url
      switch attempt.end {
      case .refused:
        refusals += 1
        // A service that let the device in before may have met a moment of trouble.
        if refusals > (wasEstablished ? 2 : 0) {
          stop(.refused)
          throw .refused
        }
      case .redirected(let next):
        refusals = 0
        target = next
        if attempt.wasEstablished, duration >= .seconds(1) { continue }
      case .broken: refusals = 0
      }
      if attempt.wasEstablished, duration >= options.longestRetryDelay { backoff.reset() }
      try? await Task.sleep(for: backoff.next())
    }
    stop(.closed)
    throw .cancelled
  }

  private func stop(_ error: DeviceError) {
    stage = .over
    perform(machine.stopped(error))
    wakeWaiters()
  }

  /// The end of an attempt to connect.
  private enum End {
    /// The service sent the device elsewhere.
    case redirected(WebSocketURL)
    /// The service does not let the device in.
    case refused
    /// There was no connection, or it broke.
    case broken
  }

  /// Connects once, and stays connected for as long as possible.
  ///
  /// - Returns: the end, and whether the service had let the device in.
  private func attempt(at target: WebSocketURL) async -> (end: End, wasEstablished: Bool) {
    let limits = Frame.Limits(header: DeviceConnection.headerLimit, data: options.dataLimit)
    let connection: DeviceConnection
    do throws(WebSocketError) {
      connection = try await DeviceConnection.open(target, service, client, limits)
    } catch {
      guard case .refused(let status) = error.code, target == url,
        (400..<500).contains(status.code)
      else { return (.broken, false) }
      return (.refused, false)
    }
    stage = .connected(connection)
    let impatience = Task {
      try await Task.sleep(for: options.joinTimeout)
      giveUpJoining()
    }
    perform(machine.connected())
    await receive(from: connection)
    impatience.cancel()
    connection.close(1000)
    let redirection: WebSocketURL? =
      if case .leaving(let target) = stage { target } else { nil }
    stage = .connecting
    let wasEstablished = machine.isEstablished
    perform(machine.disconnected())
    if wasEstablished, !Task.isCancelled { onState(.offline) }
    if let redirection { return (.redirected(redirection), wasEstablished) }
    let isRefused = !wasEstablished && connection.closeCode == 1008
    return (isRefused ? .refused : .broken, wasEstablished)
  }

  /// Takes PDUs until the connection is over, or not wanted any more.
  private func receive(from connection: DeviceConnection) async {
    while case .connected = stage {
      guard let received = try? await connection.receive() else { return }
      perform(machine.received(received.pdu, header: received.header, data: received.data))
      while machine.isOverfull, !Task.isCancelled { await streamChanged() }
    }
  }

  private func giveUpJoining() {
    if case .connected(let connection) = stage, !machine.isEstablished { connection.close(1000) }
  }

  /// Carries out the machine's actions. Nothing here waits, so the order stays.
  private func perform(_ actions: [DeviceMachine.Action]) {
    for action in actions {
      switch action {
      case .send(let pdu, let data):
        guard case .connected(let connection) = stage else { break }
        do { try connection.send(pdu, data: data) } catch { connection.close(1000) }
      case .complete(let number, let result):
        replies.removeValue(forKey: number)?.resume(returning: result)
      case .deliver(let entry):
        waitingEntries.append(entry)
        wakeWaiters()
      case .established: onState(.established)
      case .disconnect: leave(1002)
      case .redirect(let text):
        // The service's headers are genuine, but TLS is not given up for its word.
        let target = WebSocketURL(text).flatMap { $0.isSecure || !url.isSecure ? $0 : nil }
        leave(1000, for: target)
      }
    }
  }

  private func leave(_ code: UInt16, for target: WebSocketURL? = nil) {
    guard case .connected(let connection) = stage else { return }
    connection.close(code)
    stage = .leaving(to: target)
  }

  // MARK: - Requests

  /// Sends a request as soon as there is a connection, and waits for the reply.
  func ask(_ request: DeviceRequest) async throws(DeviceError) -> DeviceReply {
    if case .over = stage { throw .closed }
    let number = nextNumber()
    let impatience = Task {
      try await Task.sleep(for: options.requestTimeout)
      abandon(number, .timedOut)
    }
    defer { impatience.cancel() }
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
  /// It ends when ``run()`` does. Several loops over it share the entries. The service pauses while they are taken too
  /// slowly.
  public nonisolated var entries: DeviceEntries { DeviceEntries(device: self) }

  /// Has the service pause the stream, or go on with it. Replies are not affected.
  ///
  /// - Parameter isPaused: whether the stream is to pause. Entries that are on their way still come.
  public func setStreamPaused(_ isPaused: Bool) { perform(machine.setPaused(isPaused)) }

  func nextEntry() async -> StreamEntry? {
    while true {
      if let entry = waitingEntries.popFirst() {
        let wasOverfull = machine.isOverfull
        perform(machine.taken(entry))
        if wasOverfull { wakeWaiters() }
        return entry
      }
      if case .over = stage { return nil }
      guard !Task.isCancelled else { return nil }
      await streamChanged()
    }
  }

  /// Waits until entries come or are taken, for the end, or for the task's cancellation.
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
