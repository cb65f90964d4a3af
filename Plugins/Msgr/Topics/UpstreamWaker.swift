internal import Configuration
internal import Cryptography
internal import Formats
internal import HTTPClient
internal import HTTPProtocol
internal import Observability
internal import Platform
internal import Storage

/// Asks another server to wake the iPhones that listen to a topic: Apple's pushes for an app in the store can only come from its
/// maker's server.
///
/// A digest of the topic's address, the message's identifier and the time leave this server.
final class UpstreamWaker: Sendable {
  private static let triesAtMost = 3
  private static let atOnce = 5
  private static let pauses: [Duration] = [.seconds(30), .seconds(300)]

  private static let pollID = FieldName("X-Poll-ID")

  private let url: String
  private let publicURL: String
  private let token: Secret
  private let client: WebClient
  private let log: Log

  /// Makes a waker; nil if none is configured, or nobody could know the server's own address.
  init?(_ configuration: TopicConfiguration, publicURL: String?, log: Log) throws {
    guard !configuration.upstream.isEmpty, let publicURL, !publicURL.isEmpty else { return nil }
    url = configuration.upstream
    self.publicURL = publicURL
    token = configuration.upstreamToken
    self.log = log
    var options = HTTPClientOptions()
    options.timeout = .seconds(10)
    options.bodyLimit = 16 << 10
    client = try WebClient(options)
  }

  /// Makes the calls that are due, some at once.
  func run(_ store: TopicStore) async throws {
    var due: [TopicWake] = []
    repeat {
      due = try await store.dueWakes(atMost: Self.atOnce)
      await withTaskGroup { group in
        for wake in due {
          group.addTask { [self] in await call(wake, store) }
        }
      }
    } while due.count == Self.atOnce
  }

  private func call(_ wake: TopicWake, _ store: TopicStore) async {
    let isDone = await send(wake)
    let tries = wake.tries + 1
    do {
      if isDone || tries >= Self.triesAtMost {
        try await store.removeWake(wake.id)
      } else {
        try await store.delayWake(wake.id, by: Self.pauses[min(tries, Self.pauses.count) - 1])
      }
    } catch { log.debug("a call for a phone could not be recorded", ["cause": "\(error)"]) }
  }

  private func send(_ wake: TopicWake) async -> Bool {
    let digest = SHA256.hash(Array("\(publicURL)/\(wake.topic.text)".utf8)).bytes
    var fields = HeaderFields()
    fields.append(Self.pollID, wake.id)
    if !token.value.isEmpty { fields.append(.authorization, "Bearer \(token.value)") }
    let request = OutgoingRequest(
      .post, "\(url)/\(Hex.encode(digest))", fields: fields, body: [UInt8]())
    do {
      let status = try await client.send(request).status
      if (200...299).contains(status.code) { return true }
      log.info("upstream refused to wake a phone", ["status": status.code])
      return status != .tooManyRequests && status.code < 500
    } catch {
      log.info("upstream can't be reached to wake a phone", ["cause": "\(error)"])
      return false
    }
  }
}

/// A call that is to be made.
struct TopicWake: Sendable {
  let id: String
  let topic: TopicName
  let tries: Int
}

extension TopicStore {
  /// The time for which a call is one node's alone.
  private static let wakeLease = Duration.seconds(20)
  /// The time after which a call that couldn't be made is given up.
  private static let wakeAge = Duration.seconds(600)

  /// Queues a call, with the entry that it is about.
  func queueWake(of entry: TopicEntry, _ transaction: borrowing Transaction) throws {
    try transaction.execute(
      "INSERT INTO msgr_topic_wakes (id, topic, created_at, due_at, tries) VALUES (?, ?, ?, ?, 0)",
      entry.id, entry.topic, now, now)
  }

  /// Leases the calls that are due.
  func dueWakes(atMost count: Int) async throws -> [TopicWake] {
    let isAnyDue = try await store.read(isOneQuery: true) { snapshot in
      try snapshot.exists("SELECT 1 FROM msgr_topic_wakes WHERE due_at <= ?", now)
    }
    guard isAnyDue else { return [] }
    return try await store.write { transaction in
      try transaction.execute(
        "DELETE FROM msgr_topic_wakes WHERE created_at <= ?", now - Self.wakeAge)
      return try transaction.all(
        """
        UPDATE msgr_topic_wakes SET due_at = ?1 WHERE id IN (
          SELECT id FROM msgr_topic_wakes WHERE due_at <= ?2 ORDER BY due_at LIMIT ?3)
        RETURNING id, topic, tries
        """, now + Self.wakeLease, now, count
      ) { TopicWake(id: try $0[0], topic: try $0[1], tries: try $0[2]) }
    }
  }

  func removeWake(_ id: String) async throws {
    try await store.write { transaction in
      try transaction.execute("DELETE FROM msgr_topic_wakes WHERE id = ?", id)
    }
  }

  func delayWake(_ id: String, by pause: Duration) async throws {
    try await store.write { transaction in
      try transaction.execute(
        "UPDATE msgr_topic_wakes SET due_at = ?, tries = tries + 1 WHERE id = ?", now + pause, id)
    }
  }
}

/// The address of the server that wakes iPhones: with https, or with http on this machine.
struct UpstreamURL: Sendable, CustomStringConvertible {
  let description: String

  init?(_ text: String) {
    guard let url = WebURL(text, schemes: ["https", "http"]) else { return nil }
    let host = url.host.lowercased()
    let isLoopback = host == "localhost" || IPAddress(host)?.isLoopback == true
    guard url.scheme == "https" || isLoopback else { return nil }
    description = text.hasSuffix("/") ? String(text.dropLast()) : text
  }
}
