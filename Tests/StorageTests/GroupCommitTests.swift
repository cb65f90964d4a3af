internal import TestSupport
internal import Observability
internal import Platform
internal import Testing

@testable import Storage

@Suite(.ownThreads) struct GroupCommitTests {
  private let folder = TemporaryFolder()

  /// A configuration in which a slow machine doesn't split a group.
  private static func patient(_ groupLimit: Int = 256) -> StoreConfiguration {
    var configuration = StoreConfiguration(groupLimit: groupLimit)
    configuration.longestTransaction = .seconds(60)
    return configuration
  }

  /// Queues closures behind a held writer, so that they form one group, and returns their results.
  private func group(
    _ store: Store, _ bodies: [@Sendable (borrowing Transaction) throws -> Void]
  ) async throws -> [Result<Void, any Error>] {
    let gate = Gate()
    let held = gate.hold(store)
    try await gate.waitUntilHeld()
    var tasks: [Task<Void, any Error>] = []
    for body in bodies {
      tasks.append(Task { try await store.write(body) })
      try await gate.wait(for: tasks.count, store)
    }
    gate.open()
    try await held.value
    var results: [Result<Void, any Error>] = []
    for task in tasks { results.append(await task.result) }
    return results
  }

  @Test func whatIsQueuedIsCommittedTogetherAndLasts() async throws {
    var store = try await folder.open(notes, Self.patient())
    let bodies = (0..<50).map { number in
      { @Sendable (transaction: borrowing Transaction) in try add("\(number)", transaction) }
    }
    for result in try await group(store, bodies) { try result.get() }
    let statistics = store.statistics
    // The gate's closure, and the group of fifty.
    #expect(statistics.groupsCommitted == 2)
    #expect(statistics.groupSize.counts == [1, 0, 0, 0, 0, 0, 1, 0, 0, 0])
    #expect(statistics.groupSize.sum == 51)
    #expect(statistics.writesCommitted == 51)
    #expect(statistics.commitSeconds.count == 2)
    await store.close()
    store = try await folder.open()
    #expect(try await texts(store) == (0..<50).map(String.init))
    await store.close()
  }

  @Test func aGroupHasALimit() async throws {
    let store = try await folder.open(notes, Self.patient(8))
    let bodies = (0..<20).map { number in
      { @Sendable (transaction: borrowing Transaction) in try add("\(number)", transaction) }
    }
    for result in try await group(store, bodies) { try result.get() }
    // The gate's closure, four closures, and twice eight.
    #expect(store.statistics.groupSize.counts == [1, 0, 1, 2, 0, 0, 0, 0, 0, 0])
    #expect(store.statistics.groupSize.sum == 21)
    #expect(try await texts(store).count == 20)
    await store.close()
  }

  @Test func aFailureIsNobodyElses() async throws {
    struct Refusal: Error {}
    let store = try await folder.open()
    let results = try await group(
      store,
      [
        { try add("first", $0) },
        { transaction in
          try add("thrown away", transaction)
          throw Refusal()
        },
        { try add("first", $0) },
        { try $0.execute("INSERT INTO tags VALUES (99, 'refers to nothing')") },
        { try add("last", $0) },
      ])
    try results[0].get()
    #expect(throws: Refusal.self) { try results[1].get() }
    #expect(throws: StoreError(.constraint(.unique), "")) { try results[2].get() }
    #expect(throws: StoreError(.constraint(.foreignKey), "")) { try results[3].get() }
    try results[4].get()
    #expect(try await texts(store) == ["first", "last"])
    #expect(store.statistics.writesFailed == 3)
    #expect(store.statistics.groupsFailed == 0)
    await store.close()
  }

  @Test func whenSQLiteRollsBackAllOnlyThoseThatRanFail() async throws {
    let store = try await folder.open(notes, Self.patient())
    let results = try await group(
      store,
      [
        { try add("lost", $0) },
        // Ends the transaction, as a full disk may.
        { try $0.execute("INSERT OR ROLLBACK INTO notes (text) VALUES ('lost')") },
        { try add("kept", $0) },
        { transaction in
          try add("lost too", transaction)
          // A closure that ignores the error gets another one, and can't write any more.
          try? transaction.execute("INSERT OR ROLLBACK INTO notes (text) VALUES ('kept')")
          try? add("never", transaction)
        },
        { try add("kept as well", $0) },
      ])
    #expect(throws: StoreError(.constraint(.unique), "")) { try results[0].get() }
    #expect(throws: StoreError(.constraint(.unique), "")) { try results[1].get() }
    #expect(throws: StoreError.self) { try results[2].get() }
    #expect(throws: StoreError.self) { try results[3].get() }
    try results[4].get()
    #expect(try await texts(store) == ["kept as well"])
    await store.close()
  }

  @Test func aFullDatabaseIsTypedAndHeals() async throws {
    let store = try await folder.open()
    let big = String(repeating: "x", count: 100_000)
    try await store.write { transaction in
      try add("before", transaction)
      try transaction.forEach("PRAGMA max_page_count = 20") { _ in }
    }
    let error = await #expect(throws: StoreError(.full, "")) {
      try await store.write { try add(big, $0) }
    }
    #expect(error?.isUnavailable == true)
    let results = try await group(
      store, [{ try add("small", $0) }, { try add(big, $0) }, { try add("small too", $0) }])
    #expect(throws: StoreError(.full, "")) { try results[1].get() }
    // Each write is acknowledged or refused, and never confused.
    var expected = ["before"]
    if case .success = results[0] { expected.append("small") }
    if case .success = results[2] { expected.append("small too") }
    #expect(try await texts(store) == expected)
    try await store.write { try $0.forEach("PRAGMA max_page_count = 1000000") { _ in } }
    try await store.write { try add(big, $0) }
    #expect(try await texts(store).count == expected.count + 1)
    await store.close()
  }

  @Test func theQueueIsBounded() async throws {
    let store = try await folder.open(notes, StoreConfiguration(queueLimit: 2))
    let gate = Gate()
    let held = gate.hold(store)
    try await gate.waitUntilHeld()
    let tasks = ["a", "b"].map { text in Task { try await store.write { try add(text, $0) } } }
    try await gate.wait(for: 2, store)
    await #expect(throws: StoreError(.busy, "")) { try await store.write { try add("c", $0) } }
    #expect(store.statistics.writesRefused == 1)
    gate.open()
    try await held.value
    for task in tasks { try await task.value }
    #expect(try await texts(store).count == 2)
    await store.close()
  }

  @Test func aCancelledTaskStillGetsTheOutcome() async throws {
    let store = try await folder.open()
    let gate = Gate()
    let held = gate.hold(store)
    try await gate.waitUntilHeld()
    let task = Task { try await store.write { try add("a", $0) } }
    try await gate.wait(for: 1, store)
    task.cancel()
    gate.open()
    try await held.value
    try await task.value
    #expect(try await texts(store) == ["a"])
    await store.close()
  }

  @Test func anotherConnectionsLockIsWaitedFor() async throws {
    let patient = try await folder.open()
    let impatient = try await folder.open(
      notes, StoreConfiguration(busyTimeout: .milliseconds(20)))
    let gate = Gate()
    let held = gate.hold(patient)
    try await gate.waitUntilHeld()
    // The gate's closure runs after BEGIN IMMEDIATE.
    let error = await #expect(throws: StoreError(.busy, "")) {
      try await impatient.write { try add("refused", $0) }
    }
    #expect(error?.isUnavailable == true)
    #expect(impatient.statistics.groupsFailed == 1)
    gate.open()
    try await held.value
    try await impatient.write { try add("taken", $0) }
    #expect(try await texts(patient) == ["taken"])
    await impatient.close()
    await patient.close()
  }

  @Test func twoStoresWriteToOneFile() async throws {
    // On a slow disk, one may hold the lock for many commits of the other.
    let configuration = StoreConfiguration(busyTimeout: .seconds(60))
    let stores = [
      try await folder.open(notes, configuration), try await folder.open(notes, configuration),
    ]
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<16 {
        group.addTask {
          for number in 0..<10 {
            try await stores[task % 2].write { try add("\(task) \(number)", $0) }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try await texts(stores[0]).count == 160)
    for store in stores { await store.close() }
  }

  @Test func theLogIsCheckpointedWhileWriting() async throws {
    let store = try await folder.open()
    let page = String(repeating: "x", count: 4000)
    for number in 0..<50 {
      try await store.write { transaction in
        for part in 0..<100 { try add("\(number) \(part) \(page)", transaction) }
      }
    }
    // 5,000 pages and more were written: the log began anew before it had grown by twice what is worth a copy, and by one
    // more transaction.
    #expect(store.statistics.walPages < 2 * CheckpointPlan.growth + 300)
    #expect(store.statistics.checkpointsFailed == 0)
    let check = try await store.read { snapshot in
      try snapshot.one("PRAGMA integrity_check") { try $0[0] as String }
    }
    #expect(check == "ok")
    await store.close()
  }

  @Test func ownersTakeTurnsAndStepsKeepTheirOrder() async throws {
    let store = try await folder.open(notes, Self.patient())
    let gate = Gate()
    let held = gate.hold(store)
    try await gate.waitUntilHeld()
    let many = Task {
      await WorkOwner.$current.withValue(WorkOwner(client: 1, account: 1)) {
        await store.write(
          steps: (1...3).map { number in
            { @Sendable (transaction: borrowing Transaction) in
              try add("many \(number)", transaction)
            }
          })
      }
    }
    try await gate.wait(for: 3, store)
    let few = Task {
      try await WorkOwner.$current.withValue(WorkOwner(client: 2, account: 1)) {
        try await store.write { try add("few", $0) }
      }
    }
    try await gate.wait(for: 4, store)
    let nobodys = Task { try await store.write { try add("nobody's", $0) } }
    try await gate.wait(for: 5, store)
    gate.open()
    try await held.value
    for result in await many.value { try result.get() }
    try await few.value
    try await nobodys.value
    #expect(try await texts(store) == ["many 1", "few", "nobody's", "many 2", "many 3"])
    #expect(store.statistics.longestTransactionSeconds > 0)
    await store.close()
  }
}
