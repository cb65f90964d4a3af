package import Formats
package import Observability

/// The sections `[server]`, `[log]` and `[store]`: everything that isn't a service's own.
package struct ServerConfiguration: Sendable {
  /// The certificate and key for TLS.
  package struct TLS: Sendable, Hashable {
    /// The path of the certificate chain, in PEM.
    package let certificate: String
    /// The path of the private key, in PEM.
    package let key: String
  }

  /// The limits on clients.
  package struct Limits: Sendable, Hashable {
    /// The largest body of a request, in bytes.
    package let body: Int
    /// The largest head of a request, in bytes.
    package let header: Int
    /// The time in which the head of a request must arrive.
    package let headerTimeout: Duration
    /// The time that a connection may be without traffic.
    package let idleTimeout: Duration
    /// The largest number of connections at a time.
    package let connections: Int
    /// The largest number of connections of one client's network, or nil for a quarter of all.
    package let connectionsPerAddress: Int?
    /// The largest number of requests of one client's network in progress on an event loop.
    package let requestsPerAddress: Int
    /// The memory that clients may make the server take, in bytes; one owner has at most a quarter.
    package let memory: Int
  }

  /// `[store]`: the database.
  package struct Store: Sendable {
    /// The kind and place of the database.
    package enum Place: Sendable, Hashable, CustomStringConvertible {
      /// The path of an SQLite file.
      case sqlite(String)
      /// The URL of a PostgreSQL database.
      case postgreSQL(String)

      /// The URL.
      package var description: String {
        switch self {
        case .sqlite(let path): "sqlite:\(path)"
        case .postgreSQL(let url): url
        }
      }
    }

    /// The kind and place of the database.
    package let place: Place
    /// The password for PostgreSQL; empty if there is none.
    package let password: Secret
    /// The number of connections to PostgreSQL that write.
    package let connections: Int
    /// The number of connections to PostgreSQL for what many ask for alike.
    package let lanes: Int

    /// The path of the SQLite file, or nil if the database is another one.
    package var path: String? {
      guard case .sqlite(let path) = place else { return nil }
      return path
    }
  }

  /// `[bus]`: how nodes that share a database notify each other of changes.
  package struct Bus: Sendable {
    /// The kinds of buses.
    package enum Kind: String, Sendable, CustomStringConvertible {
      /// The database's own.
      case store = ""
      /// None: nodes only look into the database.
      case poll

      /// The value of `bus.url`.
      package var description: String { rawValue }
    }

    /// The kind.
    package let kind: Kind
    /// The time after which a node looks into the database by itself.
    package let poll: Duration
  }

  /// The operator's name for the server, shown to people.
  package let name: String
  /// The addresses that the server listens at, at least one.
  package let listen: [ListenAddress]
  /// The file mode of Unix-domain sockets.
  package let socketMode: UInt32
  /// The group of Unix-domain sockets; empty for the process's own.
  package let socketGroup: String
  /// The services that are switched on.
  package let services: [String]
  /// The number of event loops, or nil for one per core.
  package let threads: Int?
  /// The folder of keys and database.
  package let data: String
  /// The free disk in bytes below which only known users may have something stored; 0 for no such mark.
  package let diskReserve: Int
  /// The proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` count.
  package let trustedProxies: [AddressRange]
  /// The server's URL as seen from outside, or nil to take it from each request.
  package let publicURL: PublicURL?
  /// The address of metrics and debug pages, or nil to serve them with everything else, for loopback only.
  package let adminListen: ListenAddress?
  /// The names at which metrics and debug pages are reached, besides addresses and `localhost`.
  package let adminHosts: [HostName]
  /// The certificate and key, or nil without TLS.
  package let tls: TLS?
  /// `[server] limits`.
  package let limits: Limits
  /// `[log] level`.
  package let logLevel: Log.Level
  /// `[log] format`.
  package let logFormat: Log.Format
  /// `[store]`.
  package let store: Store
  /// `[bus]`.
  package let bus: Bus
  /// The name of this node for operators, or nil for the machine's.
  package let node: String?

  /// All addresses, also that of metrics and debug pages.
  package var allListenAddresses: [ListenAddress] { listen + [adminListen].compactMap(\.self) }

  /// Reads the three sections. Problems are recorded in the reader.
  ///
  /// - Parameter defaultServices: the names of those that are switched on by default, or nil for all.
  package init(
    _ reader: ConfigurationReader, knownServices: [String], defaultServices: [String]? = nil
  ) {
    let server = reader.section("server")
    let tls = Self.tls(server.section("tls"))
    self.tls = tls
    limits = Self.limits(server.section("limits"))
    name = Self.name(server)
    let address = #"an address such as "127.0.0.1:8080", "[::1]:8080" or "unix:/run/awd.sock""#
    let parseAddress = { (text: String) in
      ListenAddress(text, isSecure: tls != nil, folder: reader.configurationFolder)
    }
    listen = server.values(
      "listen",
      default: [
        ListenAddress(.tcp(.loopback, port: 8080), isSecure: tls != nil)
      ], expected: address, parse: parseAddress)
    if listen.isEmpty { server.reject("listen", "expected at least one address") }
    socketMode =
      server.value(
        "socket_mode", default: FileMode(bits: 0o660),
        expected: #"a file mode such as "0660""#, parse: { FileMode($0) }
      ).bits
    socketGroup = server.string("socket_group", default: "")
    diskReserve = server.size("disk_reserve", default: 256 << 20, in: 0...(1 << 50))
    _ = server.usersPerAddress
    if tls == nil, let first = listen.first(where: \.isSecure) {
      server.reject("listen", "expected `tls` with a certificate and a key, as \(first) needs them")
    }
    services = server.names(
      "services", default: defaultServices ?? knownServices, among: knownServices)
    let threads = server.integer("threads", default: 0, in: 0...1024)
    self.threads = threads > 0 ? threads : nil
    data = reader.dataFolder
    trustedProxies = server.values(
      "trusted_proxies", default: [],
      expected: #"an address or network such as "10.0.0.0/8""#, parse: { AddressRange($0) })
    publicURL = server.publicURL
    adminListen = server.optionalValue("admin_listen", expected: address, parse: parseAddress)
    if tls == nil, let adminListen, adminListen.isSecure {
      server.reject(
        "admin_listen", "expected `tls` with a certificate and a key, as \(adminListen) needs them")
    }
    adminHosts = server.values(
      "admin_hosts", default: [],
      expected: #"a host name without port, such as "awd.internal""#, parse: { HostName($0) })
    for (index, other) in listen.enumerated() {
      let same = listen[..<index].contains { $0.isSameSocket(as: other) }
      if same { server.reject("listen", "expected each address once, found \(other) again") }
      if adminListen?.isSameSocket(as: other) == true {
        server.reject("admin_listen", "expected an address that isn't in `listen`")
      }
    }
    let log = reader.section("log")
    logLevel = log.choice("level", default: .info)
    logFormat = log.choice("format", default: .text)
    store = Self.store(reader.section("store"))
    bus = Self.bus(reader.section("bus"))
    let node = server.string("node", default: "")
    if node.utf8.count > 64 || !node.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) {
      server.reject("node", "expected a name of at most 64 letters, digits and signs")
    }
    self.node = node.isEmpty ? nil : node
  }

  private static func name(_ section: ConfigurationSection) -> String {
    let name = section.string("name", default: "awd")
    if name.isEmpty || name.unicodeScalars.count > 64 || name.singleLine != name {
      section.reject("name", "expected a name of 1 to 64 characters in one line")
    }
    return name
  }

  private static func tls(_ section: ConfigurationSection) -> TLS? {
    let certificate = section.path("certificate", default: "", relativeTo: .data)
    let key = section.path("key", default: "", relativeTo: .data)
    switch (certificate.isEmpty, key.isEmpty) {
    case (true, true): return nil
    case (false, false): break
    case (true, false): section.reject("certificate", "expected a path, as `key` has one")
    case (false, true): section.reject("key", "expected a path, as `certificate` has one")
    }
    // Half of it counts as TLS, so that no address is refused for want of it as well.
    return TLS(certificate: certificate, key: key)
  }

  private static func limits(_ section: ConfigurationSection) -> Limits {
    let time = Duration.milliseconds(1) ... .seconds(86400)
    let perAddress = section.integer("connections_per_address", default: 0, in: 0...1_000_000)
    return Limits(
      body: section.size("body", default: 64 << 10, in: 0...(1 << 30)),
      header: section.size("header", default: 16 << 10, in: (1 << 10)...(1 << 20)),
      headerTimeout: section.duration("header_timeout", default: .seconds(10), in: time),
      idleTimeout: section.duration("idle_timeout", default: .seconds(60), in: time),
      connections: section.integer("connections", default: 16000, in: 1...1_000_000),
      connectionsPerAddress: perAddress == 0 ? nil : section.multipliedByUsers(perAddress),
      requestsPerAddress: section.multipliedByUsers(
        section.integer("requests_per_address", default: 1024, in: 1...1_000_000)),
      memory: section.size("memory", default: 256 << 20, in: (1 << 20)...(1 << 40)))
  }

  private static func store(_ section: ConfigurationSection) -> Store {
    let place = section.value(
      "url", default: Store.Place.sqlite(section.dataFolder + "/awd.sqlite3"),
      expected: #"a store such as "sqlite:awd.sqlite3" or "postgresql://awd@db.example/awd""#
    ) { text in
      if ["postgresql://", "postgres://"].contains(where: text.hasPrefix) {
        return Store.Place.postgreSQL(text)
      }
      let path = text.dropFirst("sqlite:".count)
      guard text.hasPrefix("sqlite:"), !path.isEmpty, !path.hasSuffix("/") else { return nil }
      return Store.Place.sqlite(section.resolve(String(path), relativeTo: .data))
    }
    return Store(
      place: place, password: section.secret("password"),
      connections: section.integer("connections", default: 8, in: 1...1000),
      lanes: section.integer("lanes", default: 2, in: 1...100))
  }

  private static func bus(_ section: ConfigurationSection) -> Bus {
    let kind = section.value(
      "url", default: Bus.Kind.store,
      expected: "`poll`, or nothing for the store's own bus",
      parse: { Bus.Kind(rawValue: $0) })
    let poll = section.duration(
      "poll", default: .seconds(2), in: .milliseconds(100) ... .seconds(3600))
    return Bus(kind: kind, poll: poll)
  }
}

/// The permissions of a file, written in octal.
private struct FileMode: CustomStringConvertible {
  let bits: UInt32

  init(bits: UInt32) { self.bits = bits }

  init?(_ text: String) {
    guard (3...4).contains(text.utf8.count), let bits = UInt32(text, radix: 8), bits <= 0o777 else {
      return nil
    }
    self.bits = bits
  }

  var description: String { "0" + String(bits, radix: 8) }
}

extension ListenAddress {
  /// Returns whether both addresses can't be listened at together. Each port 0 is another one.
  fileprivate func isSameSocket(as other: ListenAddress) -> Bool {
    if case .tcp(_, port: 0) = endpoint { return false }
    return endpoint == other.endpoint
  }
}
