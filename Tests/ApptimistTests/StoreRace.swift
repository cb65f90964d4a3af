internal import ApptimistProtocol
internal import Cryptography
internal import Storage
internal import Testing
internal import TestSupport
internal import Platform

@testable import Apptimist

/// A race of many who send to users 1 to 3, retry and truncate, while others read and transactions are
/// undone.
final class StoreRace: Sendable {
  /// The acknowledgement of an entry.
  struct Acknowledgement: Hashable, Sendable {
    let user: Int
    let position: MailboxPosition
    let id: MessageID
  }

  private struct Progress {
    var messages: Set<Acknowledgement> = []
    var truncations: Set<Acknowledgement> = []
    /// The places of the messages that are truncated.
    var places: Set<Acknowledgement> = []
    var senders = 0
    var done = 0
  }

  private struct Refusal: Error {}

  private let store: ApptimistStore
  private let seed: UInt64
  private let progress: Lock<Progress>

  init(store: ApptimistStore, seed: UInt64, senders: Int) {
    self.store = store
    self.seed = seed
    progress = Lock(Progress(senders: senders))
  }

  /// The messages that were acknowledged.
  var acknowledged: Set<Acknowledgement> { progress.withLock { $0.messages } }

  private var isOver: Bool { progress.withLock { $0.done == $0.senders } }

  private var place: Comment { "seed \(seed)" }

  /// Waits until so many messages are acknowledged, or no more come.
  func reach(_ count: Int) async throws {
    try await waitUntil { acknowledged.count >= count || isOver }
  }

  /// Tries again as long as the transaction fails because of another one.
  private func persist<Value>(
    _ body: nonisolated(nonsending) () async throws -> Value
  ) async throws -> Value {
    while true {
      do { return try await body() } catch let error as StoreError {
        guard error.isUnavailable || error.code == .constraint(.notNull) else { throw error }
      }
    }
  }

  // MARK: - Those who take part

  /// Sends messages, each to some of the users, and looks at once whether they have it.
  func send(_ count: Int, as sender: Int) async throws {
    defer { progress.withLock { $0.done += 1 } }
    var generator = SeededGenerator(seed: seed &+ UInt64(sender))
    var sent: [(copies: [MessageCopy], positions: [MailboxPosition])] = []
    for number in 0..<count {
      let data = Array(repeating: UInt8(sender), count: generator.pick(0...200))
      let users = (1...3).filter { _ in generator.pick(0...1) == 0 }
      let copies = users.map { MailboxModel.copy(of: sender * 1000 + number, data, for: $0) }
      let queued = try await persist {
        try await store.deliver(copies, from: StoreFixture.login(sender % 3 + 1))
      }
      var positions: [MailboxPosition] = []
      for result in queued {
        guard case .delivered(let position) = result else {
          Issue.record("\(result) instead of a position, seed \(seed)")
          return
        }
        positions.append(position)
      }
      progress.withLock { progress in
        for (index, user) in users.enumerated() {
          progress.messages.insert(
            Acknowledgement(user: user, position: positions[index], id: copies[index].id))
        }
      }
      sent.append((copies, positions))
      guard let index = users.indices.randomElement(using: &generator) else { continue }
      try await expectAtOnce(
        copies[index].id, at: positions[index], isTruncation: false, of: users[index])
      if generator.pick(0...5) == 0 {
        try await truncate(copies[index].id, at: positions[index], of: users[index])
      }
      if generator.pick(0...3) == 0, let old = sent.randomElement(using: &generator) {
        let again = try await persist {
          try await store.deliver(old.copies, from: StoreFixture.login(sender % 3 + 1))
        }
        #expect(again == old.positions.map(Delivered.known), place)
      }
    }
  }

  private func truncate(
    _ id: MessageID, at position: MailboxPosition, of user: Int
  ) async throws {
    let truncation = try await persist {
      try await store.truncate(id, of: StoreFixture.login(user)).truncation
    }
    guard case .first(let truncated) = truncation else {
      Issue.record("\(truncation) instead of the first, seed \(seed)")
      return
    }
    progress.withLock { progress in
      progress.truncations.insert(Acknowledgement(user: user, position: truncated, id: id))
      progress.places.insert(Acknowledgement(user: user, position: position, id: id))
    }
    try await expectAtOnce(id, at: truncated, isTruncation: true, of: user)
  }

  private func expectAtOnce(
    _ id: MessageID, at position: MailboxPosition, isTruncation: Bool, of user: Int
  ) async throws {
    let page = try await persist {
      try await store.page(
        of: StoreFixture.key(user), after: position.previous, maxBytes: .max, maxEntries: 1)
    }
    #expect(page.entries.first?.position == position, place)
    #expect(page.entries.first?.id == id, place)
    #expect((page.entries.first?.content == .truncation) == isTruncation, place)
  }

  /// Reads a user's stream until nothing more comes.
  func follow(_ user: Int) async throws {
    var generator = SeededGenerator(seed: seed &- UInt64(user))
    var told: [MailboxEntry] = []
    var cursor = MailboxPosition.zero
    while true {
      let isLastRound = isOver
      if let last = told.last {
        let start = try await persist {
          try await store.start(of: StoreFixture.key(user), head: last.id, max: 0)
        }
        #expect(last.content == .truncation || start == last.position, place)
      }
      let size = generator.pick(1...5)
      let page = try await persist {
        try await store.page(
          of: StoreFixture.key(user), after: cursor, maxBytes: .max, maxEntries: size)
      }
      told += page.entries
      #expect(page.end >= cursor, place)
      cursor = page.end
      if isLastRound && page.isLast { break }
    }
    let (messages, truncations, places) = progress.withLock {
      ($0.messages, $0.truncations, $0.places)
    }
    #expect(told.map(\.position) == told.map(\.position).sorted(), place)
    let all = told.map { Acknowledgement(user: user, position: $0.position, id: $0.id) }
    #expect(Set(all).count == all.count, place)
    // An entry that it lacks was truncated before the reader came there.
    let lacking = messages.union(truncations).filter { $0.user == user }.subtracting(all)
    #expect(lacking.isSubset(of: places), place)
  }

  /// Makes transactions fail, alone or with all that are in them.
  func fail() async throws {
    var generator = SeededGenerator(seed: seed &+ 100)
    while !isOver {
      let user = StoreFixture.key(generator.pick(1...3))
      switch generator.pick(0...2) {
      case 0:
        await #expect(throws: (any Error).self) {
          try await store.store.write { transaction in
            try transaction.execute("INSERT OR ROLLBACK INTO apptimist_settled VALUES (NULL)")
          }
        }
      default:
        await #expect(throws: (any Error).self) {
          try await store.deliveries.write(isolation: .serializable) {
            [store] deliveries, transaction in
            try store.mailboxes.flush(user, &deliveries, transaction)
            throw Refusal()
          }
        }
      }
      // Some time passes between failures, so that the others come on.
      try await Task.sleep(for: .milliseconds(2))
    }
  }

  // MARK: - Afterwards

  /// Expects each mailbox to be 1, 2, 3 and so on, and to have what was acknowledged.
  ///
  /// - Parameter isEnd: whether it has nothing else.
  func expect(
    _ acknowledged: Set<Acknowledgement>, isEnd: Bool, in store: ApptimistStore
  ) async throws {
    let (truncations, places) = progress.withLock { ($0.truncations, $0.places) }
    for user in 1...3 {
      let entries = try await store.entries(of: user)
      let last = try await store.lastPosition(of: StoreFixture.key(user)).rawValue
      // Each truncation has emptied a place.
      let emptied = entries.count { $0.content == .truncation }
      #expect(entries.count + emptied == last, place)
      #expect(Set(entries.map(\.position)).count == entries.count, place)
      let told = Set(
        entries.map { Acknowledgement(user: user, position: $0.position, id: $0.id) })
      let expected = acknowledged.filter { $0.user == user }
      #expect(expected.subtracting(told).isSubset(of: places), place)
      if isEnd {
        let all = expected.union(truncations.filter { $0.user == user }).subtracting(places)
        #expect(told == all, place)
      }
    }
  }
}
