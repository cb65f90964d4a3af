internal import ApptimistProtocol
internal import Cryptography
internal import Platform
internal import WalletClient
internal import HTTPClient

/// A device of Apptimist that runs as long as the object lives, and collects its entries.
final class Phone: Sendable {
  let device: Device
  let keys: DeviceKeys
  private let task: Task<Void, any Error>
  private let states: Counter

  /// The numbers of connections that were made and lost.
  private final class Counter: Sendable {
    let values = Lock((established: 0, lost: 0))
  }

  init(
    _ name: String?, keys: DeviceKeys, cursor: DeviceCursor, service: ServicePin,
    url: WebSocketURL
  ) throws {
    var options = DeviceOptions()
    options.retryDelay = .milliseconds(20)
    options.longestRetryDelay = .milliseconds(200)
    let states = Counter()
    let device = try Device(
      keys: keys, service: service, url: url, account: name.flatMap { NewAccount(name: $0) },
      cursor: cursor, options: options
    ) { state in
      states.values.withLock { values in
        if state == .established { values.established += 1 } else { values.lost += 1 }
      }
    }
    self.device = device
    self.keys = keys
    self.states = states
    task = Task { try await device.run() }
  }

  deinit { task.cancel() }

  var user: EncryptionPublicKey { device.user }

  /// The number of connections that were lost.
  var losses: Int { states.values.withLock(\.lost) }

  /// Waits until the service knows the account.
  func settle() async throws {
    guard try await device.user(user) != nil else { throw Unexpected("no account") }
  }

  /// Waits for the next message, and opens it. Other entries are skipped.
  func next() async throws -> (message: DeviceMessage, text: String) {
    // Iterators of one device share its entries.
    let iterator = device.entries.makeAsyncIterator()
    while let entry = await iterator.next() {
      guard case .message(let message) = entry else { continue }
      return (message, String(decoding: try await device.open(message).data, as: UTF8.self))
    }
    throw Unexpected("the stream ended")
  }

  func next(_ count: Int) async throws -> [String] {
    var texts: [String] = []
    while texts.count < count { texts.append(try await next().text) }
    return texts
  }

  /// Sends a message, and returns when the service has it on disk.
  @discardableResult
  func send(_ text: String, to user: EncryptionPublicKey) async throws -> MessageID {
    let message = try await device.seal(Array(text.utf8), to: user)
    try await device.send(message)
    return message.id
  }

  func stop() async {
    task.cancel()
    _ = await task.result
  }
}
