package import Budgets
package import Cluster
package import Configuration
package import Observability
package import Platform
package import Push
package import Storage
package import WebApps

internal import Cryptography
internal import Glibc
internal import Routing

/// All that the program offers one service.
package struct ServiceContext: Sendable {
  /// The database, with the tables of the service's migrations.
  package var store: Store
  /// The pushes of all services to phones and browsers.
  package var pushes: Pushes
  /// Notifies other nodes of changes in the store, and receives their notifications.
  package var bus: any Bus
  /// This run of the program. Rows of the store that belong to it go when it ends.
  package var node: NodeID
  /// A log that names the service in each line.
  package var log: Log
  /// The registry of the service's metrics.
  package var metrics: Metrics
  /// Returns the wall-clock time, which is the same for all nodes.
  package var clock: @Sendable () -> Timestamp
  /// Returns the time by which rows may be deleted for their age: ``clock``, or less where that can't be relied on.
  package var expiry: @Sendable () -> Timestamp
  /// Gives as many random bytes as asked for, fit for keys and tokens.
  package var randomBytes: @Sendable (_ count: Int) -> [UInt8] = SecureRandom.bytes
  /// The folder of all that the daemon keeps, without a slash at its end.
  package var dataFolder: String
  /// The free disk, of which a part is kept for known users.
  package var disk: DiskReserve
  /// The operator's name for the server.
  package var serverName: String
  /// The server's URL as seen from outside, without a slash at its end, or nil to take it from each request.
  package var publicURL: String?
  /// The program's pages for its operator, to be linked from pages that are shown on this machine.
  package var operatorPages: [PageLink]
  /// The digests of files that must be the same on all nodes.
  package var contents: NodeContents
  /// The hosts that the service's routes answer to. Empty means any.
  package var hosts: [HostName]
  /// The largest body of requests to routes without a limit of their own, in bytes.
  package var bodyLimit: Int
  /// The number of event loops that serve requests.
  package var loops: Int

  /// Makes a context, with the system's clock unless another is given.
  ///
  /// - Parameters:
  ///   - pushes: the pushes of all services; nil for such without a push service.
  ///   - bus: the bus between the nodes that share the store.
  ///   - log: a log that names the service.
  ///   - expiry: returns the time by which rows may be deleted; nil for the clock's.
  ///   - dataFolder: the folder of all that the daemon keeps.
  ///   - publicURL: the server's URL as seen from outside.
  ///   - hosts: the hosts that the service's routes answer to.
  ///   - bodyLimit: the largest body of requests, in bytes.
  package init(
    store: Store, pushes: Pushes? = nil, bus: any Bus = NoBus(),
    node: NodeID = .random(), log: Log, metrics: Metrics = Metrics(),
    clock: @escaping @Sendable () -> Timestamp = Timestamp.now,
    expiry: (@Sendable () -> Timestamp)? = nil,
    dataFolder: String, disk: DiskReserve? = nil, serverName: String = Product.name,
    publicURL: String? = nil,
    operatorPages: [PageLink] = [], contents: NodeContents = NodeContents(),
    hosts: [HostName] = [], bodyLimit: Int = 64 << 10, loops: Int = 1
  ) {
    self.store = store
    self.pushes =
      pushes
      ?? Pushes(
        PushConfiguration(dataFolder: dataFolder), store: store, log: log, metrics: metrics,
        clock: clock)
    self.bus = bus
    self.node = node
    self.log = log
    self.metrics = metrics
    self.clock = clock
    self.expiry = expiry ?? clock
    self.dataFolder = dataFolder
    self.disk = disk ?? DiskReserve(of: nil, mark: 0)
    self.serverName = serverName
    self.publicURL = publicURL
    self.operatorPages = operatorPages
    self.contents = contents
    self.hosts = hosts
    self.bodyLimit = bodyLimit
    self.loops = loops
  }
}

extension Metrics {
  /// Registers the figures of a budget.
  ///
  /// - Parameter name: the name of the budget, which is the label `budget`.
  package func budget(named name: String, _ read: @escaping @Sendable () -> BudgetStatistics) {
    let labels: Labels = ["budget": name]
    gauge("awd_budget_capacity", "Amount that all owners may hold", labels) {
      Double(read().capacity)
    }
    gauge("awd_budget_held", "Amount that is held", labels) { Double(read().held) }
    gauge("awd_budget_owners", "Owners that hold something", labels) { Double(read().owners) }
    counter("awd_budget_refused_total", "Requests to a budget that were refused", labels) {
      Double(read().refused)
    }
    counter("awd_budget_lost_total", "Holdings that the largest owner lost", labels) {
      Double(read().lost)
    }
  }
}

extension ServiceContext {
  /// Makes the data folder, but none above it: a disk that isn't mounted must not be replaced by a folder.
  package func makeDataFolder() throws(CommandError) {
    guard unsafe mkdir(dataFolder, 0o700) != 0, errno != EEXIST else { return }
    guard errno != ENOENT else {
      throw .refused(
        "the data folder \(dataFolder) can't be made: the folder that it would lie in is missing; "
          + "mount its disk, or make that folder")
    }
    throw .refused("the data folder \(dataFolder) can't be made: \(SystemError(errno))")
  }
}

/// A store that can't be reached may be there again at the next request.
extension StoreError: TemporaryFailure {}
