internal import Cluster
internal import Cryptography
internal import FoundationEssentials
internal import Observability
internal import Platform
internal import ServiceKit
internal import Storage
internal import Synchronization

/// This process among those that share the store. On SQLite there is no other.
final class StoreNode: Sendable {
  /// The number of this run.
  let id: NodeID
  /// The name by which operators know this node.
  let name: String
  /// The paths of files of keys, by the keys of the configuration that name them.
  private let keys: KeyFiles
  /// The digests of files that must be the same on all nodes.
  let contents = NodeContents()
  private let store: Store
  /// The node's row, if the store is shared.
  private let registry: NodeRegistry?
  private let clock: DatabaseClock?
  /// The time that has passed for sure, if the store isn't shared.
  private let passed: PassedTime?

  /// Names a node, and looks at the database's clock.
  ///
  /// - Parameters:
  ///   - location: its place; nodes share one of PostgreSQL's.
  ///   - name: the node's name.
  ///   - keyFiles: the paths of files of keys, by the keys of the configuration that name them.
  ///   - trustsClock: whether rows are deleted by the system's clock, however little time has passed for sure.
  init(
    in store: Store, at location: StoreLocation, named name: String, keyFiles: [String: String],
    trustsClock: Bool = false
  ) async throws {
    id = .random()
    keys = KeyFiles(paths: keyFiles)
    self.store = store
    self.name = name
    guard case .postgreSQL = location else {
      registry = nil
      clock = nil
      passed = try await PassedTime(in: store, isReset: trustsClock)
      return
    }
    passed = nil
    registry = NodeRegistry(id, named: self.name, version: Product.version, in: store)
    clock = try await DatabaseClock(of: store)
  }

  /// Returns the time: the database's where several nodes share one, so that ends of leases are the same for all.
  var now: @Sendable () -> Timestamp { { [clock] in clock?.now ?? .now() } }

  /// Returns the time by which rows may be deleted for their age.
  var expiry: @Sendable () -> Timestamp {
    { [now, passed] in passed.map { min(now(), $0.now) } ?? now() }
  }

  /// The seal for notices to other nodes; nil if there are none.
  var seal: NotificationSeal? { get async throws { try await registry?.seal(clock: now) } }

  /// Becomes one of the nodes, if this one has the keys that the store depends on.
  ///
  /// - Parameter log: gets to know which keys have to be made anew.
  /// - Throws: ``CommandError`` if a file of keys is lost or another one.
  func join(log: Log) async throws {
    if let registry {
      try await registry.join()
    } else {
      try await forgetLostKeys(log)
    }
    try await verifyKeys()
  }

  /// Has the store no longer depend on files that are gone and may be made anew. Other nodes would still have them, so
  /// this is for a node that is alone.
  private func forgetLostKeys(_ log: Log) async throws {
    let names = keys.renewals(comparedWith: try await store.keyFingerprints())
    // Forgotten before they are made: a crash in between must leave no new file beside an old fingerprint.
    try await store.forgetKeys(names)
    for name in names {
      log.warning(
        "the key of pushes to browsers is gone, and a new one is made: browsers get no pushes until "
          + "their users open the web app again", ["file": keys.paths[name] ?? ""])
    }
  }

  /// Compares the files of keys with those that the store depends on.
  ///
  /// - Throws: ``CommandError`` if one is lost or another one.
  func verifyKeys() async throws {
    let problems = keys.problems(comparedWith: try await store.keyFingerprints())
    guard problems.isEmpty else { throw CommandError.refused(problems.joined(separator: "\n")) }
  }

  /// Has the store depend on the files of keys that are there, for the first time.
  func recordKeys() async throws {
    try await store.recordKeys(keys.hashes, of: name)
    // Another node may have been faster, with other keys.
    try await verifyKeys()
  }

  /// Has the store depend on the files as they are now, whatever they were before.
  ///
  /// - Returns: the files that count from now on, and those that are missing: the next start makes them anew.
  func replaceKeys() async throws -> (kept: [String], missing: [String]) {
    let names = keys.paths.keys.sorted()
    try await store.forgetKeys(names)
    try await store.recordKeys(keys.hashes, of: name)
    let known = try await store.keyFingerprints()
    return (names.filter { known[$0] != nil }, names.filter { known[$0] == nil })
  }

  /// Says time and again that the node is there, until the task is cancelled.
  func run(log: Log) async {
    guard let registry else { return await recordTime(log) }
    var failures = 0
    var shown: [String: [UInt8]] = [:]
    while (try? await Task.sleep(for: failures == 0 ? NodeRegistry.interval : .seconds(1))) != nil {
      do {
        if try await !registry.sendHeartbeat() {
          log.warning("node was declared dead and has rejoined", ["node": name])
          try await verifyKeys()
          shown = [:]
        }
        failures = 0
        let contents = contents.current
        if contents != shown {
          try await registry.record(contents)
          shown = contents
        }
        try await clock?.set()
        try await registry.markDead()
      } catch {
        if failures == 0 {
          log.warning(
            "the heartbeat failed; other nodes may declare this one dead", ["cause": "\(error)"])
        }
        failures += 1
      }
    }
  }

  private func recordTime(_ log: Log) async {
    var hasWarned = false
    repeat {
      if !hasWarned, expiry() + .seconds(86_400) < now() {
        hasWarned = true
        log.warning(
          "the system clock is more than a day ahead of the time that awd has counted: expired rows "
            + "stay until `awd serve --trust-clock`", ["seen": "\(expiry())", "clock": "\(now())"])
      }
      // A failure is seen by whoever else writes.
      try? await passed?.record()
    } while (try? await Task.sleep(for: .seconds(60))) != nil
  }

  /// Removes the node from the list of those that run.
  func leave() async {
    await registry?.leave()
    try? await passed?.record()
  }
}

/// The time that has passed for sure: what the store has recorded of the last run, and as much as a clock that nobody sets has
/// counted in this one.
///
/// The system's clock may be wrong, and what is deleted by it for its age can't be brought back.
struct PassedTime: Sendable {
  private let store: Store
  private let start: Timestamp
  private let beginning = ContinuousClock.now

  /// Goes on where the last run has ended.
  ///
  /// - Parameter isReset: whether the system's clock counts whatever was kept.
  init(in store: Store, isReset: Bool) async throws {
    self.store = store
    let now = Timestamp.now()
    start = isReset ? now : try await store.keptTime() ?? now
  }

  /// The time.
  var now: Timestamp { start + (ContinuousClock.now - beginning) }

  /// Records it in the store.
  func record() async throws { try await store.record(now) }
}

/// The time by the clock of the database that nodes share.
///
/// Between two looks at the database it goes by a clock that nobody sets.
final class DatabaseClock: Sendable {
  private let store: Store
  private let beginning = ContinuousClock.now
  /// The database's time at the beginning, in milliseconds since 1970.
  private let start = Atomic<Int64>(0)

  /// Makes a clock that shows the database's time.
  init(of store: Store) async throws {
    self.store = store
    try await set()
  }

  /// The time.
  var now: Timestamp { Timestamp(milliseconds: start.load(ordering: .relaxed) + elapsed) }

  /// Looks at the database's clock.
  func set() async throws {
    let time = try await store.time()
    start.store(time.milliseconds - elapsed, ordering: .relaxed)
  }

  private var elapsed: Int64 { (ContinuousClock.now - beginning).milliseconds }
}
