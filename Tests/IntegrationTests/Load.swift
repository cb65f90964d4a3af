internal import Cryptography
internal import Synchronization
internal import TestSupport
internal import Platform
internal import WalletClient

/// Users who write to one recipient of each messenger, each as soon as the last message is acknowledged.
final class Load: Sendable {
  /// The messages that were sent. Each text is its sender's name, a colon, and a number that counts up from 0.
  struct Record: Sendable {
    /// The messages that the server has acknowledged.
    var msgr: [String] = []
    var apptimist: [String] = []
    /// The errors that ended senders early.
    var failures: [String] = []

    /// The number of acknowledged messages of the slowest sender.
    func least(of senders: [String]) -> Int {
      let all = msgr + apptimist
      return senders.map { sender in all.count { $0.hasPrefix("\(sender):") } }.min() ?? 0
    }
  }

  static let recipient = "recipient"

  private let site: Site
  /// The recipient of Apptimist's messages.
  let phone: Phone
  private let record = Lock(Record())
  private let tasks = Lock<[Task<Void, Never>]>([])
  private let isOver = Atomic(false)
  private let senders = ["post", "stream", "device", "other"]

  private init(_ site: Site, _ phone: Phone) {
    self.site = site
    self.phone = phone
  }

  /// Makes the accounts, and starts the senders.
  static func start(on site: Site) async throws -> Load {
    let phone = try await site.device("Recipient")
    try await phone.settle()
    let load = Load(site, phone)
    _ = try await site.msgr(recipient)
    let post = try await site.msgr("post")
    let stream = try await site.msgr("stream").stream()
    let devices = [try await site.device("device"), try await site.device("other")]
    load.send("post", \.msgr) { try await post.send($0, to: recipient) }
    load.send("stream", \.msgr) { try await stream.send($0, to: recipient) }
    for (name, device) in zip(["device", "other"], devices) {
      load.send(name, \.apptimist) { try await device.send($0, to: phone.user) }
    }
    return load
  }

  private func send<Answer>(
    _ name: String, _ list: any WritableKeyPath<Record, [String]> & Sendable,
    _ send: @escaping @Sendable (String) async throws -> Answer
  ) {
    let task = Task {
      var number = 0
      while !isOver.load(ordering: .relaxed) {
        let text = "\(name):\(number)"
        do {
          _ = try await send(text)
          record.withLock { $0[keyPath: list].append(text) }
        } catch {
          return record.withLock { $0.failures.append("\(text) \(error)") }
        }
        number += 1
      }
    }
    tasks.withLock { $0.append(task) }
  }

  /// The acknowledged messages so far.
  var progress: Record { record.withLock { $0 } }

  /// Waits until so many more messages of every sender are acknowledged.
  func advance(by count: Int) async throws {
    let start = progress.least(of: senders)
    try await waitUntil {
      let failures = progress.failures
      guard failures.isEmpty else { throw Unexpected("\(failures)") }
      return progress.least(of: senders) >= start + count
    }
  }

  /// Stops the senders after their present message.
  func finish() async -> Record {
    isOver.store(true, ordering: .relaxed)
    for task in tasks.withLock({ $0 }) { await task.value }
    return progress
  }
}
