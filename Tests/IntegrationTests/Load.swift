internal import Cryptography
internal import Synchronization
internal import Threading
internal import WalletClient

/// Users that write to one recipient of each messenger as fast as they are answered.
final class Load: Sendable {
  /// What was sent: each text is its sender's name, a colon, and a number that counts up from 0.
  struct Record: Sendable {
    /// What the server has answered for.
    var msgr: [String] = []
    var apptimist: [String] = []
    /// Why senders ended before they were asked to.
    var failures: [String] = []

    /// How many messages the sender who has the fewest got through.
    func least(of senders: [String]) -> Int {
      let all = msgr + apptimist
      return senders.map { sender in all.count { $0.hasPrefix("\(sender):") } }.min() ?? 0
    }
  }

  static let recipient = "recipient"

  private let site: Site
  /// Who gets what is sent by Apptimist.
  let phone: Phone
  private let record = Lock(Record())
  private let tasks = Lock<[Task<Void, Never>]>([])
  private let isOver = Atomic(false)
  private let senders = ["post", "stream", "device", "other"]

  private init(_ site: Site, _ phone: Phone) {
    self.site = site
    self.phone = phone
  }

  /// Makes the accounts and begins.
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

  /// What was answered so far.
  var progress: Record { record.withLock { $0 } }

  /// Waits until every sender has got so many more messages through.
  func advance(by count: Int) async throws {
    let start = progress.least(of: senders)
    while progress.least(of: senders) < start + count {
      let failures = progress.failures
      guard failures.isEmpty else { throw Unexpected("\(failures)") }
      try await Task.sleep(for: .milliseconds(5))
    }
  }

  /// Has the senders finish what they are at.
  func finish() async -> Record {
    isOver.store(true, ordering: .relaxed)
    for task in tasks.withLock({ $0 }) { await task.value }
    return progress
  }
}
