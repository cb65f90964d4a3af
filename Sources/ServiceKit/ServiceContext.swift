public import Configuration
public import Observability
public import Storage
public import Time

/// What the program lends a service.
public struct ServiceContext: Sendable {
  /// The service's section of the configuration, validated before.
  public var configuration: ConfigurationSection
  /// The database, with the tables of the service's migrations.
  public var store: Store
  /// A log that names the service.
  public var log: Log
  /// Where the service registers what it counts.
  public var metrics: Metrics
  /// Tells the wall-clock time.
  public var clock: @Sendable () -> Timestamp
  /// Gives as many random bytes as asked for, fit for keys and tokens.
  public var randomBytes: @Sendable (_ count: Int) -> [UInt8]
  /// The folder of all that the daemon keeps, without a slash at its end.
  public var dataFolder: String
  /// The server's URL as seen from outside, without a slash at its end; nil: taken from requests.
  public var publicURL: String?
  /// Where the operator sees how the server fares, for links on pages that are shown on this machine.
  public var statusURL: String?
  /// The host names, in lower case, that the service's routes answer to; empty: to any.
  public var hosts: [String]
  /// How many event loops serve requests.
  public var loops: Int

  /// A context with the system's clock and random source, unless others are given.
  ///
  /// - Parameters:
  ///   - configuration: the service's section.
  ///   - store: the database.
  ///   - log: where the service tells events.
  ///   - metrics: where it registers what it counts.
  ///   - clock: tells the wall-clock time.
  ///   - randomBytes: gives random bytes.
  ///   - dataFolder: the folder of all that the daemon keeps.
  ///   - publicURL: the server's URL as seen from outside.
  ///   - statusURL: where the operator sees how the server fares.
  ///   - hosts: the host names that the service's routes answer to.
  ///   - loops: how many event loops serve requests.
  public init(
    configuration: ConfigurationSection, store: Store, log: Log, metrics: Metrics = Metrics(),
    clock: @escaping @Sendable () -> Timestamp = Timestamp.now,
    randomBytes: @escaping @Sendable (_ count: Int) -> [UInt8] = ServiceContext.systemRandomBytes,
    dataFolder: String, publicURL: String? = nil, statusURL: String? = nil, hosts: [String] = [],
    loops: Int = 1
  ) {
    self.configuration = configuration
    self.store = store
    self.log = log
    self.metrics = metrics
    self.clock = clock
    self.randomBytes = randomBytes
    self.dataFolder = dataFolder
    self.publicURL = publicURL
    self.statusURL = statusURL
    self.hosts = hosts
    self.loops = loops
  }

  /// Random bytes of the system's generator.
  ///
  /// - Parameter count: how many.
  public static func systemRandomBytes(_ count: Int) -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    return (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
  }
}
