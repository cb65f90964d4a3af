internal import Formats
internal import Configuration
internal import FoundationEssentials
internal import Push
internal import ServiceKit
internal import Storage

/// The whole configuration, read and found valid. Nothing is opened yet.
struct LoadedConfiguration: Sendable {
  /// The keys that take effect on a reload, without a restart.
  static let reloaded: Set<String> = ["log.level", "server.tls.certificate", "server.tls.key"]

  /// The configuration file, or nil for the development setting.
  let file: String?
  let server: ServerConfiguration
  /// The place of the store.
  let store: StoreLocation
  /// The push services of all services.
  let push: PushConfiguration
  /// Every key with its value and origin.
  let settings: [ConfigurationSetting]
  /// Doubts about the environment's variables.
  let doubts: [ContentFinding]
  private let sections: [String: (configuration: any ServiceConfiguration, hosts: [HostName])]

  /// Reads and validates the configuration.
  ///
  /// - Parameters:
  ///   - file: the configuration file, or nil for the development setting.
  ///   - environment: the environment variables, which override keys.
  ///   - services: all services that are built in.
  ///   - included: services whose sections are read even if they are switched off.
  /// - Throws: every problem of the configuration.
  init(
    file: String?, environment: [String: String], services: [any Service.Type],
    including included: [any Service.Type] = []
  ) throws(ConfigurationError) {
    let document = try ConfigurationDocument.load(file: file, environment: environment)
      .renaming(PushConfiguration.formerNames)
    let reader = ConfigurationReader(document)
    let server = ServerConfiguration(
      reader, knownServices: services.map { $0.name },
      defaultServices: services.filter { $0.isOnByDefault }.map { $0.name })
    var sections: [String: (configuration: any ServiceConfiguration, hosts: [HostName])] = [:]
    // Whichever service asks chains reads it.
    var ignored: Set<String> = ["chains"]
    for service in services {
      guard
        server.services.contains(service.name)
          || included.contains(where: { $0.name == service.name })
      else {
        ignored.insert(service.name)
        continue
      }
      var section = reader.section(service.name)
      section.isServed = server.services.contains(service.name)
      let hosts = section.values(
        "hosts", default: [HostName](),
        expected: #"a host name without port, such as "repo.example""#, parse: { HostName($0) })
      let configuration = service.configuration(section)
      if section.isServed, service is any Confidential.Type,
        let exposed = server.firstExposedAddress
      {
        reader.section("server").reject(
          "listen",
          "\(service.name) takes secrets, which \(exposed) would let others read; "
            + "expected `https://` with `tls`, a loopback address, or `trusted_proxies` that name "
            + "the proxy in front")
      }
      sections[service.name] = (configuration, hosts)
    }
    push = PushConfiguration(reader.section("push"))
    let store = Self.location(of: server.store, reader.section("store"))
    try reader.finish(ignoring: ignored)
    self.file = file
    self.store = store
    self.server = server
    self.sections = sections
    settings = reader.settings
    doubts = reader.doubtfulVariables.map { name, meant in
      .doubtful("\(name) is no key's variable and is ignored, did you mean \(meant)?")
    }
  }

  private static func location(
    of store: ServerConfiguration.Store, _ section: ConfigurationSection
  ) -> StoreLocation {
    switch store.place {
    case .sqlite(let path): return .file(path)
    case .postgreSQL(let url):
      do throws(PostgreSQLAddress.Invalid) {
        return .postgreSQL(try PostgreSQLAddress(url, password: store.password.value))
      } catch {
        section.reject("url", "\(error)")
        return .memory
      }
    }
  }

  /// Reads the configuration of a command.
  ///
  /// - Parameter included: services whose sections are read even if they are switched off: the store holds their tables.
  /// - Throws: ``CommandError`` with every problem.
  init(
    _ context: CommandContext, including included: [any Service.Type] = []
  ) throws(CommandError) {
    do {
      try self.init(
        file: context.configurationFile, environment: context.environment,
        services: context.services, including: included)
    } catch { throw .refused(error.reason) }
  }

  /// Returns the configuration of a service that is switched on or included.
  func configuration(
    of service: any Service.Type
  ) throws(CommandError) -> any ServiceConfiguration {
    guard let section = sections[service.name] else {
      throw .refused("\(service.name) is switched off")
    }
    return section.configuration
  }

  /// Makes a service that is switched on.
  func make<S: Service>(_ service: S.Type, _ context: ServiceContext) async throws -> S {
    guard let configuration = try configuration(of: service) as? S.Configuration else {
      throw CommandError.refused("it has no configuration")
    }
    return try await service.init(context, configuration)
  }

  /// Returns a service's configuration if it can be checked.
  func checking(_ service: any Service.Type) -> (any Checking)? {
    sections[service.name]?.configuration as? any Checking
  }

  /// Returns a service's configuration if backups treat its files or rows in a way of their own.
  func backedUp(_ service: any Service.Type) -> (any BackedUp)? {
    sections[service.name]?.configuration as? any BackedUp
  }

  /// Returns the hosts that a service answers to. None means any.
  func hosts(of service: any Service.Type) -> [HostName] { sections[service.name]?.hosts ?? [] }

  /// Returns the services that are switched on.
  func services(among services: [any Service.Type]) -> [any Service.Type] {
    services.filter { server.services.contains($0.name) }
  }

  /// Returns the digests of files that must be the same on all nodes, by the full keys that name them.
  ///
  /// - Parameter services: services that are switched on.
  func contentDigests(of services: [any Service.Type]) async -> [String: [UInt8]] {
    var digests: [String: [UInt8]] = [:]
    for service in services {
      for (key, digest) in await checking(service)?.contentDigests() ?? [:] {
        digests["\(service.name).\(key)"] = digest
      }
    }
    return digests
  }

  /// Returns the services' files of keys and that of pushes, wherever they lie.
  ///
  /// - Parameter services: services that are switched on or included.
  /// - Returns: the paths by the full keys that name them, such as `apptimist.keys`.
  func keyFiles(of services: [any Service.Type]) -> [String: String] {
    var files = [PushConfiguration.nameOfWebKey: push.webKey]
    for service in services {
      for (key, path) in backedUp(service)?.keyFiles ?? [:] {
        files["\(service.name).\(key)"] = path
      }
    }
    return files
  }

  /// Returns the paths of the services' folders of content.
  ///
  /// - Parameter services: services that are switched on or included.
  func contentFolders(of services: [any Service.Type]) -> [String] {
    services.flatMap { backedUp($0)?.contentFolders ?? [] }
  }

  /// Returns the tables whose rows a restored store must not have.
  ///
  /// - Parameter services: services that are switched on or included.
  func unrestoredTables(of services: [any Service.Type]) -> [StaticString] {
    services.flatMap { backedUp($0).map { type(of: $0).unrestoredTables } ?? [] }
  }

  /// Compares the configuration with an older one.
  ///
  /// - Returns: the keys whose values differ.
  func changes(since old: LoadedConfiguration) -> [String] {
    let before = Dictionary(old.settings.map { ($0.key, $0.value) }) { first, _ in first }
    let after = Dictionary(settings.map { ($0.key, $0.value) }) { first, _ in first }
    return Set(before.keys).union(after.keys).filter { before[$0] != after[$0] }.sorted()
  }
}

extension ServerConfiguration.Store {
  /// The path of the file, or the URL.
  var name: String { path ?? "\(place)" }
}

extension ServerConfiguration {
  /// The name by which operators know this node: without another one, the machine's.
  var nodeName: String { node ?? ProcessInfo.processInfo.hostName }

  /// True if other machines reach the server: it listens for them, a proxy elsewhere passes them on, or it has a URL for
  /// them. A configuration that trusts a proxy on this machine and names no URL, such as the package's, exposes nothing
  /// yet.
  var isExposed: Bool {
    let hasRemoteProxy = !trustedProxies.allSatisfy(\.first.isLoopback)
    let hasURL = publicURL.map { !$0.isLocal } ?? false
    return hasRemoteProxy || hasURL || listen.contains { !$0.isLocal }
  }

  /// An address that other machines reach in plain HTTP without a trusted proxy among them, or nil if there is none.
  fileprivate var firstExposedAddress: ListenAddress? {
    // A proxy on this machine has no need of an address that others reach.
    guard trustedProxies.allSatisfy(\.first.isLoopback) else { return nil }
    return listen.first { !$0.isSecure && !$0.isLocal }
  }
}
