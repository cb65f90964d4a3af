public import ApptimistProtocol
public import Cryptography
internal import HTTPProtocol

/// A user's device at an Apptimist service: one account, one connection that is made again whenever it breaks.
///
/// Run it in a task of its own; everything else waits until it is connected, and survives reconnections.
///
/// ```swift
/// let device = try Device(keys: keys, service: identity, url: url, head: savedHead)
/// let running = Task { try await device.run() }
/// for await entry in device.entries { … }
/// ```
///
/// The guide *An Apptimist device* tells the whole story.
public actor Device {
  /// Whether the device is connected at the moment.
  public enum State: Sendable, Hashable {
    /// No connection; another attempt follows by itself.
    case offline
    /// The service has let the device in.
    case established
  }

  /// Who the user is.
  public nonisolated let user: EncryptionPublicKey
  /// The service that the app trusts.
  public nonisolated let service: ServiceIdentity

  let keys: DeviceKeys
  /// Between the user and the service: for the content of files.
  let serviceBox: BoxKey
  let options: DeviceOptions
  private let url: WebSocketURL
  private let client: WebSocketClient
  private let onState: @Sendable (State) -> Void
  private var machine: DeviceMachine
  private var connection: DeviceConnection?

  private var life = Life.notYet
  /// Where the service sent the device, for the next attempt.
  private var redirection: WebSocketURL?
  private var lastNumber: UInt64 = 0
  private var answers: [UInt64: CheckedContinuation<Answer, Never>] = [:]
  /// What of the stream nobody has taken yet.
  private var waitingEntries = Queue<StreamEntry>()
  private var entryWaiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
  /// Waits for entries to be taken before it reads on.
  private var reader: CheckedContinuation<Void, Never>?

  private typealias Answer = Result<DeviceRequest.Answer, DeviceError>

  private enum Life { case notYet, running, over }

  /// A device that isn't connected yet.
  ///
  /// - Parameters:
  ///   - keys: the user's pairs.
  ///   - service: the service's keys, as they came with the app.
  ///   - url: where the service is; a query is replaced.
  ///   - account: the account to be made first; nil if there is one already. To name it again does no harm.
  ///   - head: the identifier of the last message that the app has; nil: none.
  ///   - options: times and limits.
  ///   - client: carries the connection; nil: one of its own. Its messages must not be limited to less than
  ///     the default.
  ///   - onState: told when the connection comes and goes, but not when it is ended on request.
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

  /// Connects, and again whenever the connection breaks, until the task is cancelled or the service refuses.
  ///
  /// When it ends, all that is asked of the device fails, and ``entries`` ends. It may be called again.
  ///
  /// - Throws: `.refused`, `.cancelled`, `.runsAlready`.
  public func run() async throws(DeviceError) {
    guard life != .running else { throw .runsAlready }
    life = .running
    var backoff = Backoff(options)
    var refusals = 0
    var wasEstablished = false
    while !Task.isCancelled {
      let start = ContinuousClock.now
      let outcome = await attempt()
      let duration = ContinuousClock.now - start
      wasEstablished = wasEstablished || outcome.wasEstablished
      refusals = outcome == .refused ? refusals + 1 : 0
      // Who was let in before may have met a moment of trouble.
      if refusals > (wasEstablished ? 2 : 0) {
        stop(.refused)
        throw .refused
      }
      if outcome == .redirected, duration >= .seconds(1) { continue }
      if outcome.wasEstablished, duration >= options.longestRetryDelay { backoff.reset() }
      try? await Task.sleep(for: backoff.next())
    }
    stop(.closed)
    throw .cancelled
  }

  private func stop(_ error: DeviceError) {
    life = .over
    perform(machine.stopped(error))
    wakeEntryWaiters()
  }

  /// How an attempt ended.
  private enum Outcome {
    /// The service let the device in, and sent it elsewhere later.
    case redirected
    /// The service let the device in, and the connection broke later.
    case broken
    /// The service does not let the device in.
    case refused
    /// It didn't come that far.
    case failed

    var wasEstablished: Bool { self == .redirected || self == .broken }
  }

  /// Connects once, and stays as long as it goes.
  private func attempt() async -> Outcome {
    let target = redirection ?? url
    redirection = nil
    let limits = Frame.Limits(header: DeviceConnection.headerLimit, data: options.dataLimit)
    let connection: DeviceConnection
    do throws(WebSocketError) {
      connection = try await DeviceConnection.open(target, service, client, limits)
    } catch {
      guard case .refused(let status) = error.code, target == url else { return .failed }
      return (400..<500).contains(status.code) ? .refused : .failed
    }
    self.connection = connection
    let impatience = Task {
      try await Task.sleep(for: options.joinTimeout)
      giveUpJoining()
    }
    perform(machine.connected())
    await receive(from: connection)
    impatience.cancel()
    connection.close(1000)
    self.connection = nil
    let wasEstablished = machine.isEstablished
    perform(machine.disconnected())
    guard wasEstablished else { return connection.closeCode == 1008 ? .refused : .failed }
    if !Task.isCancelled { onState(.offline) }
    return redirection == nil ? .broken : .redirected
  }

  /// Takes what the service sends until the connection is over, or not wanted any more.
  private func receive(from connection: DeviceConnection) async {
    while self.connection != nil {
      guard let received = try? await connection.receive() else { return }
      perform(machine.received(received.pdu, header: received.header, data: received.data))
      while machine.isOverfull, !Task.isCancelled { await entriesTaken() }
    }
  }

  private func giveUpJoining() {
    if !machine.isEstablished { connection?.close(1000) }
  }

  /// Carries out what the machine decides; nothing here waits, so the order stays.
  private func perform(_ actions: [DeviceMachine.Action]) {
    for action in actions {
      switch action {
      case .send(let pdu, let data):
        do { try connection?.send(pdu, data: data) } catch { connection?.close(1000) }
      case .complete(let number, let result):
        answers.removeValue(forKey: number)?.resume(returning: result)
      case .deliver(let entry):
        waitingEntries.append(entry)
        wakeEntryWaiters()
      case .established: onState(.established)
      case .disconnect: drop(1002)
      case .redirect(let text):
        // The service's headers are genuine, but TLS is not given up for its word.
        if let target = WebSocketURL(text), target.isSecure || !url.isSecure {
          redirection = target
        }
        drop(1000)
      }
    }
  }

  private func drop(_ code: UInt16) {
    connection?.close(code)
    connection = nil
  }

  // MARK: - Requests

  /// Asks something of the service, as soon as there is a connection.
  func ask(_ request: DeviceRequest) async throws(DeviceError) -> DeviceRequest.Answer {
    guard life != .over else { throw .closed }
    let number = nextNumber()
    let impatience = Task {
      try await Task.sleep(for: options.requestTimeout)
      abandon(number, .timedOut)
    }
    defer { impatience.cancel() }
    let result: Answer = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard !Task.isCancelled else { return continuation.resume(returning: .failure(.cancelled)) }
        answers[number] = continuation
        perform(machine.submit(number, request))
      }
    } onCancel: {
      Task { await self.abandon(number, .cancelled) }
    }
    return try result.get()
  }

  private func abandon(_ number: UInt64, _ error: DeviceError) {
    guard let continuation = answers.removeValue(forKey: number) else { return }
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
  /// It ends when ``run()`` does. Several loops over it share the entries. Who takes them slowly lets the service
  /// pause.
  public nonisolated var entries: DeviceEntries { DeviceEntries(device: self) }

  /// Lets the service pause the stream, or go on with it; answers are not affected.
  ///
  /// - Parameter isPaused: whether it is to pause. Entries that are on their way still come.
  public func setStreamPaused(_ isPaused: Bool) { perform(machine.setPaused(isPaused)) }

  func nextEntry() async -> StreamEntry? {
    while true {
      if let entry = waitingEntries.popFirst() {
        perform(machine.taken(entry))
        if !machine.isOverfull { wakeReader() }
        return entry
      }
      guard life != .over, !Task.isCancelled else { return nil }
      await entryCame()
    }
  }

  private func entryCame() async {
    let number = nextNumber()
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard !Task.isCancelled else { return continuation.resume() }
        entryWaiters[number] = continuation
      }
    } onCancel: {
      Task { await self.wakeEntryWaiter(number) }
    }
  }

  private func wakeEntryWaiter(_ number: UInt64) {
    entryWaiters.removeValue(forKey: number)?.resume()
  }

  private func wakeEntryWaiters() {
    for number in Array(entryWaiters.keys) { wakeEntryWaiter(number) }
  }

  private func entriesTaken() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard !Task.isCancelled else { return continuation.resume() }
        reader = continuation
      }
    } onCancel: {
      Task { await self.wakeReader() }
    }
  }

  private func wakeReader() {
    reader?.resume()
    reader = nil
  }
}
