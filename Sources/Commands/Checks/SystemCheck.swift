internal import Configuration
internal import HTTPServer
internal import Formats
internal import Glibc
internal import Platform
internal import Routing
internal import ServiceKit

/// Checks whether the server can listen where the configuration says.
enum ListenCheck {
  /// Tries to bind each address. A server that runs from the same data folder is not in its own way.
  static func findings(_ server: ServerConfiguration) -> [ContentFinding] {
    if DataFolderLock.isHeld(in: server.data) {
      return [.good("listen: a server runs from this data folder now")]
    }
    return (server.listen + [server.adminListen].compactMap(\.self)).map { address in
      guard let problem = problem(at: address.endpoint, of: server) else {
        return .good("listen: \(address) is free")
      }
      // Nodes that share a database have no lock by which a running one is known.
      guard server.store.path == nil else { return .wrong("listen: \(problem.text)") }
      return .doubtful(
        problem.isInUse
          ? "listen: \(address.endpoint) is in use: by this server, if it runs; otherwise by another program: "
            + "stop that one, or choose another address" : "listen: \(problem.text)")
    }
  }

  private static func problem(
    at endpoint: Endpoint, of server: ServerConfiguration
  ) -> (text: String, isInUse: Bool)? {
    switch endpoint {
    // The unit may bind ports below 1024, which the user who checks may not.
    case .tcp(_, port: ..<1024): return nil
    case .tcp:
      guard let problem = WebServer.problem(listeningAt: endpoint) else { return nil }
      return (problem.description, problem == .cannotListen(endpoint, EADDRINUSE))
    case .unix(let path):
      switch unsafe access(DurableFile.folder(of: path), W_OK) {
      case 0:
        let access: SocketAccess
        do throws(CommandError) { access = try server.socketAccess() } catch {
          return (error.description, false)
        }
        guard let problem = WebServer.problem(listeningAt: endpoint, socket: access) else {
          return nil
        }
        return (problem.description, problem == .cannotListen(endpoint, EADDRINUSE))
      // The unit makes it when the service starts.
      case _ where errno == ENOENT && path.hasPrefix("/run/"): return nil
      case _ where errno == ENOENT: return ("there is no folder for the socket \(path)", false)
      default: return ("\(path): \(SystemError(errno))", false)
      }
    }
  }
}

/// Checks the machine for `awd check`: the data folder, the descriptors, the clock.
enum SystemCheck {
  /// The time when this program's first version was written. No right clock is behind it.
  private static let earliest = Timestamp(seconds: 1_790_000_000)
  /// The descriptors that are no connections: listeners, the store, the log, files being read.
  private static let ownDescriptors = 100

  /// Checks everything, and changes nothing.
  ///
  /// - Parameter environment: the variables that it was read with.
  static func findings(
    _ configuration: LoadedConfiguration, _ environment: [String: String]
  ) -> [ContentFinding] {
    var limit = rlimit()
    unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    return [
      dataFolder(configuration.server.data),
      descriptors(UInt64(limit.rlim_max), connections: configuration.server.limits.connections),
      clock(now: .now()),
    ] + unreadable(configuration, environment) + secrets(configuration, environment)
  }

  /// Finds the files that root could read for this check and the service's user can't: the configuration, and those that
  /// variables name.
  private static func unreadable(
    _ configuration: LoadedConfiguration, _ environment: [String: String]
  ) -> [ContentFinding] {
    let named = configuration.settings.compactMap { setting in
      if case .environment(let name) = setting.origin, name.hasSuffix("_FILE") {
        return environment[name]
      }
      return nil
    }
    let files = Set([configuration.file].compactMap(\.self) + named)
    return files.sorted().compactMap { file in
      guard unsafe access(file, R_OK) != 0 else { return nil }
      let user = DataFolder.currentUser
      let group = unsafe getgrgid(getegid()).map { unsafe String(cString: $0.pointee.gr_name) }
      return .wrong(
        "user \(user) may not read \(file): chgrp \(group ?? "\(getegid())") \(file) && chmod 640 \(file)"
      )
    }
  }

  /// Doubts files with secrets that everybody on the machine may read: the configuration, and those that variables name.
  static func secrets(
    _ configuration: LoadedConfiguration, _ environment: [String: String]
  ) -> [ContentFinding] {
    let files = Dictionary(grouping: configuration.settings.filter(\.isSecret)) { setting in
      switch setting.origin {
      case .file(let file, _, _): file
      case .environment(let name) where name.hasSuffix("_FILE"): environment[name] ?? ""
      case .environment, .default: ""
      }
    }
    return files.sorted { $0.key < $1.key }.compactMap { file, secrets in
      var status = stat()
      guard unsafe stat(file, &status) == 0, status.st_mode & S_IROTH != 0 else { return nil }
      let keys = secrets.map(\.key).joined(separator: ", ")
      return .doubtful("\(file): other users may read \(keys); chmod o= \(file)")
    }
  }

  /// Checks the data folder.
  static func dataFolder(_ path: String) -> ContentFinding {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else {
      return errno == ENOENT
        ? .good("data folder \(path): `awd serve` will make it")
        : .wrong("data folder \(path): \(unsafe String(cString: strerror(errno)))")
    }
    guard status.st_mode & S_IFMT == S_IFDIR else {
      return .wrong("data folder \(path): not a folder")
    }
    guard unsafe access(path, R_OK | W_OK | X_OK) == 0 else {
      return .wrong("data folder \(path): this user may not write there")
    }
    guard status.st_mode & 0o077 == 0 else {
      return .doubtful("data folder \(path): other users may read it; chmod 700 \(path)")
    }
    return .good("data folder \(path): only its owner may read it")
  }

  /// Checks whether enough files and sockets may be open.
  static func descriptors(_ limit: UInt64, connections: Int) -> ContentFinding {
    let needed = UInt64(connections + ownDescriptors)
    return limit >= needed
      ? .good("descriptors: \(limit) for \(connections) connections")
      : .doubtful(
        "descriptors: \(limit) are too few for \(connections) connections; allow \(needed), "
          + "or lower limits.connections")
  }

  /// Checks that the clock isn't far behind.
  static func clock(now: Timestamp) -> ContentFinding {
    now >= earliest
      ? .good("clock: \(now)")
      : .wrong(
        "clock: it shows \(now), which is in the past; certificates and signing times need the right time"
      )
  }
}

/// Checks whether the configuration says what stands in front of the server, for `awd check` and the log.
enum ExposureCheck {
  /// Checks the listeners, the proxies and the URL against each other.
  ///
  /// - Returns: one finding for each thing.
  static func findings(_ server: ServerConfiguration) -> [ContentFinding] {
    [proxies(server), publicURL(server), operatorPages(server)].compactMap(\.self)
  }

  /// Doubts a URL that others know at addresses that only this machine reaches: a proxy must be there, and all its
  /// clients would count as one.
  private static func proxies(_ server: ServerConfiguration) -> ContentFinding? {
    if !server.trustedProxies.isEmpty {
      let list = server.trustedProxies.map(\.description).joined(separator: ", ")
      return .good("trusted_proxies: limits go by the addresses that \(list) reports")
    }
    guard let url = server.publicURL, !url.isLocal, server.listen.allSatisfy(\.isLocal) else {
      return nil
    }
    return .doubtful(
      "trusted_proxies is empty, but \(url) is not on an address of `listen`: all clients of the "
        + "proxy in front count as one, and one user's wrong passwords lock out all; name the "
        + #"proxy, such as trusted_proxies = ["127.0.0.1", "::1"]"#)
  }

  /// The sentence about a server without a URL of its own.
  static let missingURL =
    "public_url is missing: set it before other machines reach the server; without it script URIs are told only at the "
    + "names in `hosts`, no device is redirected when the server stops, and Apple takes no pushes to "
    + "browsers unless [push.web] contact is set"

  private static func publicURL(_ server: ServerConfiguration) -> ContentFinding? {
    if let url = server.publicURL { return .good("public_url: \(url)") }
    guard server.isExposed || !server.trustedProxies.isEmpty else { return nil }
    return server.isExposed ? .doubtful(missingURL) : .good(missingURL)
  }

  /// Doubts pages for the operator at an address that others reach.
  private static func operatorPages(_ server: ServerConfiguration) -> ContentFinding? {
    guard let address = server.adminListen else {
      return server.isExposed
        ? .doubtful(
          "admin_listen is missing: metrics and the status page answer beside everything else, "
            + "to this machine only, and not through a proxy")
        : nil
    }
    return address.isLocal
      ? .good("admin_listen: \(address), for this machine only")
      : .doubtful("admin_listen: everyone who reaches \(address) sees the metrics and the status")
  }
}

extension ServerConfiguration {
  /// The rule that decides who may see the operator's pages.
  var operatorAccess: OperatorAccess {
    guard adminListen == nil else { return .ownListener(names: adminHosts) }
    let ports = listen.compactMap(\.port)
    // The system chooses in place of 0.
    return .sharedListener(
      behind: TrustedProxies(trustedProxies), ports: ports.contains(0) ? nil : Set(ports))
  }
}

extension ListenAddress {
  /// The port, or nil for a Unix socket.
  fileprivate var port: UInt16? {
    guard case .tcp(_, let port) = endpoint else { return nil }
    return port
  }
}

extension PublicURL {
  /// True if the URL names this machine for itself alone.
  var isLocal: Bool {
    var host = authority[...]
    if !host.hasSuffix("]"), let colon = host.lastIndex(of: ":") { host = host[..<colon] }
    if host.hasPrefix("[") { host = host.dropFirst().dropLast() }
    return host == "localhost" || IPAddress(String(host))?.isLoopback == true
  }
}
