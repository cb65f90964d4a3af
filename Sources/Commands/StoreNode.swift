internal import CommandLine
internal import Cryptography
internal import FoundationEssentials
internal import Observability
internal import ServiceKit
internal import Storage
internal import Synchronization
internal import Time

/// This process among those that share the store. On SQLite there is no other.
final class StoreNode: Sendable {
  /// The number of this run.
  let id: NodeID
  /// The name by which operators know this node.
  let name: String
  private let store: Store
  /// The paths of files of keys, by the keys of the configuration that name them.
  private let keyFiles: [String: String]
  /// The node's row, if the store is shared.
  private let registry: NodeRegistry?
  /// The milliseconds by which the clock of the database is ahead of this machine's.
  private let lead = Atomic<Int64>(0)

  /// Names a node, and looks at the database's clock.
  ///
  /// - Parameters:
  ///   - store: the store.
  ///   - name: the node's name, or nil for the machine's.
  ///   - keyFiles: the paths of files of keys, by the keys of the configuration that name them.
  init(in store: Store, named name: String?, keyFiles: [String: String]) async throws {
    (id, self.store, self.keyFiles) = (.random(), store, keyFiles)
    self.name = name ?? ProcessInfo.processInfo.hostName
    registry =
      store.isShared
      ? NodeRegistry(id, named: self.name, version: Product.version, in: store) : nil
    if store.isShared { try await setClock() }
  }

  /// Tells the time: the database's where several nodes share one, so that ends of leases are the same for all.
  var now: @Sendable () -> Timestamp {
    { [self] in
      Timestamp(milliseconds: Timestamp.now().milliseconds + lead.load(ordering: .relaxed))
    }
  }

  private func setClock() async throws {
    let time = try await store.time()
    lead.store(time.milliseconds - Timestamp.now().milliseconds, ordering: .relaxed)
  }

  /// Becomes one of the nodes, if this one has no other keys than they.
  ///
  /// - Throws: ``CommandError`` if another node has other keys.
  func join() async throws {
    try await registry?.stay()
    try await compareKeys()
  }

  /// Compares the files of keys with those of the other nodes, and notes what they are for nodes that come later.
  ///
  /// - Throws: ``CommandError`` if another node has other keys.
  func compareKeys() async throws {
    let hashes = keyFiles.compactMapValues { path in
      FileManager.default.contents(atPath: path).map { SHA256.hash([UInt8]($0)).bytes }
    }
    do { try await registry?.compare(hashes) } catch let error as NodeRegistry.Mismatch {
      throw CommandError.refused("\(error)")
    }
  }

  /// Says time and again that the node is there, until the task is cancelled.
  func run(log: Log) async {
    guard let registry else { return }
    var wasLost = false
    while (try? await Task.sleep(for: NodeRegistry.interval)) != nil {
      do {
        if try await !registry.stay() {
          log.warning("other nodes took this one for dead; it is back", ["node": name])
          try await compareKeys()
        }
        try await setClock()
        wasLost = false
      } catch {
        if !wasLost { log.warning("other nodes can't see this one", ["cause": "\(error)"]) }
        wasLost = true
      }
    }
  }

  /// Takes leave of the other nodes.
  func leave() async { await registry?.leave() }
}
