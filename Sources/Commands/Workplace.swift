internal import Configuration
internal import FoundationEssentials
internal import HTTPServer
internal import Observability
internal import ServiceKit
internal import Storage

/// What services work with: the store, opened and brought up to date, and all they are lent.
struct Workplace: Sendable {
  let configuration: LoadedConfiguration
  let store: Store
  let log: Log
  let metrics = Metrics()

  /// How many event loops there are.
  var loops: Int {
    let threads = configuration.server.threads
    return threads > 0 ? threads : ProcessInfo.processInfo.activeProcessorCount
  }

  /// Makes the data folder and opens the store.
  ///
  /// - Parameters:
  ///   - configuration: where they are.
  ///   - services: all services that are built in.
  ///   - log: where they tell events.
  ///   - onlyToRead: whether nothing is to be made: a store that isn't there is an empty one in
  ///     memory.
  /// - Throws: ``CommandError`` that says what is wrong and what to do.
  static func open(
    _ configuration: LoadedConfiguration, services: [any Service.Type], log: Log,
    onlyToRead: Bool = false
  ) async throws -> Workplace {
    let path =
      switch configuration.server.store {
      case .sqlite(let path): path
      }
    let isMissing = onlyToRead && !FileManager.default.fileExists(atPath: path)
    if !onlyToRead { try DataFolder.prepare(configuration.server.data) }
    do {
      // All services' migrations, so that the schema doesn't depend on what is switched on.
      let store = try await Store.open(
        isMissing ? .memory : .file(path), migrations: services.flatMap { $0.migrations })
      return Workplace(configuration: configuration, store: store, log: log)
    } catch {
      throw CommandError.refused("the store \(path): \(error)")
    }
  }

  /// Where the status page is, as seen from this machine.
  private var statusURL: String? {
    switch configuration.server.adminListen?.endpoint {
    case nil: StatusPage.path
    case .tcp(let host, let port):
      "http://\(Endpoint.tcp(host: "\(host)", port: port))\(StatusPage.path)"
    case .unix: nil
    }
  }

  /// What a service is lent.
  func context(for service: any Service.Type) throws -> ServiceContext {
    ServiceContext(
      configuration: try configuration.section(of: service), store: store,
      log: log.with(["service": service.name]), metrics: metrics,
      dataFolder: configuration.server.data,
      publicURL: configuration.server.publicURL?.description,
      statusURL: statusURL, hosts: configuration.hosts(of: service), loops: loops)
  }

  /// Commits what is queued, and lets go of the store and the log.
  func close() async {
    await store.close()
    log.flush()
  }
}
