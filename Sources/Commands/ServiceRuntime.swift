internal import Configuration
internal import FoundationEssentials
internal import HTTPServer
internal import Observability
internal import ServiceKit
internal import Storage

/// The open store, the log and the metrics that all services of the process share.
struct ServiceRuntime: Sendable {
  let configuration: LoadedConfiguration
  let store: Store
  let log: Log
  let metrics = Metrics()

  /// The number of event loops.
  var loops: Int {
    configuration.server.threads ?? ProcessInfo.processInfo.activeProcessorCount
  }

  /// Makes the data folder, and opens the store.
  ///
  /// - Parameters:
  ///   - configuration: names the data folder and the store.
  ///   - services: all services that are built in.
  ///   - log: the log of the process.
  ///   - onlyToRead: whether nothing is made. A missing store is replaced by an empty one in memory.
  /// - Throws: ``CommandError`` that says what is wrong and how to mend it.
  static func open(
    _ configuration: LoadedConfiguration, services: [any Service.Type], log: Log,
    onlyToRead: Bool = false
  ) async throws -> ServiceRuntime {
    let path = configuration.server.store.path
    let isMissing = onlyToRead && !FileManager.default.fileExists(atPath: path)
    if !onlyToRead { try DataFolder.prepare(configuration.server.data) }
    do {
      // All services' migrations, so that the schema doesn't depend on what is switched on.
      let store = try await Store.open(
        isMissing ? .memory : .file(path), migrations: services.flatMap { $0.migrations })
      return ServiceRuntime(configuration: configuration, store: store, log: log)
    } catch {
      throw CommandError.refused("the store \(path): \(StoreCheck.advice(on: error))")
    }
  }

  /// The pages for the operator, with URLs that work on this machine.
  private var operatorPages: [PageLink] {
    let base: String
    switch configuration.server.adminListen?.endpoint {
    case nil: base = ""
    case .tcp(let host, let port): base = "http://\(Endpoint.tcp(host: "\(host)", port: port))"
    // Browsers don't open Unix-domain sockets.
    case .unix: return []
    }
    return [PageLink("Status of the server", url: base + StatusPage.path)]
  }

  /// Makes the context of a service.
  ///
  /// - Parameter service: a service that is switched on or was included in the configuration.
  func context(for service: any Service.Type) throws -> ServiceContext {
    ServiceContext(
      configuration: try configuration.section(of: service), store: store,
      log: log.with(["service": service.name]), metrics: metrics,
      dataFolder: configuration.server.data,
      publicURL: configuration.server.publicURL?.description, operatorPages: operatorPages,
      hosts: configuration.hosts(of: service), loops: loops)
  }

  /// Commits the writes that are queued, closes the store, and waits for the log.
  func close() async {
    await store.close()
    log.flush()
  }
}
