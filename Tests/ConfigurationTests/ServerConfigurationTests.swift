internal import Formats
internal import Configuration
internal import Observability
internal import Testing

@Suite struct ServerConfigurationTests {
  private static let services = ["tokenscript", "msgr", "apptimist"]

  private static func read(
    _ text: String, _ environment: [String: String] = [:], file: String? = "etc/awd.toml"
  ) throws -> (ServerConfiguration, String) {
    let reader = try reader(text, environment, file: file)
    let configuration = ServerConfiguration(reader, knownServices: services)
    return (configuration, problems(reader))
  }

  @Test func defaults() throws {
    let (configuration, problems) = try Self.read("")
    #expect(problems == "")
    #expect(configuration.listen.map(\.description) == ["http://127.0.0.1:8080"])
    #expect(configuration.services == Self.services)
    #expect(configuration.threads == nil)
    #expect(configuration.data == "etc/var")
    #expect(configuration.trustedProxies.isEmpty)
    #expect(configuration.publicURL == nil && configuration.adminListen == nil)
    #expect(configuration.tls == nil)
    #expect(configuration.limits.body == 65536 && configuration.limits.header == 16384)
    #expect(configuration.limits.headerTimeout == .seconds(10))
    #expect(configuration.limits.idleTimeout == .seconds(60))
    #expect(configuration.limits.connections == 16000)
    #expect(configuration.logLevel == .info && configuration.logFormat == .text)
    #expect(configuration.store.path == "etc/var/awd.sqlite3")
  }

  /// Reads every key of the three sections, and those of the services as they would.
  @Test func everyKey() throws {
    let text = """
      [server]
      listen   = ["127.0.0.1:8080", "http://[::1]:0", "unix:awd.sock"] # several
      services = ["tokenscript", "msgr", "apptimist"]
      threads  = 4
      data     = "../var"
      trusted_proxies = ["10.0.0.0/8", "::1"]
      public_url = "https://Wallet.example:8443/awd/"
      admin_listen = "127.0.0.1:9090"
      tls = { certificate = "/etc/cert.pem", key = "key.pem" }
      limits = { body = "1MiB", header = "8KiB", header_timeout = "5s", idle_timeout = "2m", connections = 100 }

      [log]
      level = "warning"
      format = "json"

      [store]
      url = "sqlite:db/awd.sqlite3"

      [tokenscript]
      repository = "…"
      schemas    = "…"
      signature  = "require"
      schema     = "warn"
      trust      = "warn"
      roots      = ""
      choice     = "ask"
      modified   = "signed"
      default_namespace = ""
      verify_untrusted = false
      hosts      = []
      [tokenscript.deployers]
      "0xcontract" = "0xkey"
      [[tokenscript.clients]]
      name = "AlphaWallet"
      platform = "iOS"
      versions = ">=1.0 <2.0"
      namespaces = ["2019/05"]

      [msgr]
      push = "log"
      debug_pushes = false
      [msgr.apns]
      url = ""

      [apptimist]
      path = "/siren"
      identity = "open"
      [apptimist.facebook]
      app_secret = "x"
      """
    let reader = try reader(text, file: "etc/awd.toml")
    let configuration = ServerConfiguration(reader, knownServices: Self.services)
    let tokenscript = reader.section("tokenscript")
    for key in ["signature", "schema", "trust", "choice", "modified", "default_namespace"] {
      _ = tokenscript.string(key, default: "")
    }
    _ = tokenscript.path("roots", default: "")
    _ = tokenscript.path("schemas", default: "")
    _ = tokenscript.bool("verify_untrusted", default: true)
    _ = tokenscript.values("hosts", default: ["x"], expected: "a string", parse: \.self)
    #expect(tokenscript.path("repository", default: "") == "etc/…")
    #expect(tokenscript.dictionary("deployers") == ["0xcontract": "0xkey"])
    for client in tokenscript.tables("clients") {
      #expect(client.string("name", default: "") == "AlphaWallet")
      #expect(client.string("platform", default: "") == "iOS")
      #expect(client.string("versions", default: "") == ">=1.0 <2.0")
      #expect(
        client.values("namespaces", default: [], expected: "a string", parse: \.self) == ["2019/05"]
      )
    }
    #expect(problems(reader, ignoring: ["msgr", "apptimist"]) == "")

    #expect(
      configuration.listen.map(\.description) == [
        "https://127.0.0.1:8080", "http://[::1]:0", "https://unix:etc/awd.sock",
      ])
    #expect(configuration.threads == 4)
    #expect(configuration.data == "var")
    #expect(configuration.trustedProxies.map(\.description) == ["10.0.0.0/8", "::1"])
    #expect(configuration.publicURL?.description == "https://wallet.example:8443/awd")
    #expect(configuration.adminListen?.isSecure == true)
    #expect(configuration.tls?.certificate == "/etc/cert.pem")
    #expect(configuration.tls?.key == "var/key.pem")
    #expect(configuration.limits.body == 1 << 20 && configuration.limits.header == 8192)
    #expect(configuration.limits.headerTimeout == .seconds(5))
    #expect(configuration.limits.idleTimeout == .seconds(120))
    #expect(configuration.limits.connections == 100)
    #expect(configuration.logLevel == .warning && configuration.logFormat == .json)
    #expect(configuration.store.path == "var/db/awd.sqlite3")
  }

  @Test func developmentFile() throws {
    let root = #filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined()
    let reader = ConfigurationReader(
      try ConfigurationDocument.load(file: root + "/config/dev.toml", environment: [:]))
    let configuration = ServerConfiguration(reader, knownServices: Self.services)
    #expect(configuration.services == ["tokenscript", "msgr", "apptimist"])
    #expect(configuration.data == root + "/var/dev")
    #expect(problems(reader, ignoring: ["push", "tokenscript", "msgr", "apptimist"]) == "")
  }

  @Test func variables() throws {
    let (configuration, problems) = try Self.read(
      "[server]\nlimits = { body = '1B' }",
      [
        "AWD_SERVER_LIMITS_BODY": "2MiB", "AWD_SERVER_LIMITS_HEADER_TIMEOUT": "3s",
        "AWD_SERVER_TLS_KEY": "/k", "AWD_SERVER_TLS_CERTIFICATE": "/c",
        "AWD_SERVER_LISTEN": "127.0.0.1:1,unix:/s", "AWD_SERVER_SERVICES": "msgr",
        "AWD_STORE_URL": "sqlite:/db", "AWD_LOG_LEVEL": "debug", "AWD_SERVER_DATA": "/data",
        "AWD_SERVER_PUBLIC_URL": "", "AWD_SERVER_TRUSTED_PROXIES": "",
      ])
    #expect(problems == "")
    #expect(configuration.limits.body == 2 << 20)
    #expect(configuration.limits.headerTimeout == .seconds(3))
    #expect(configuration.tls?.key == "/k" && configuration.tls?.certificate == "/c")
    #expect(
      configuration.listen.map(\.description) == ["https://127.0.0.1:1", "https://unix:/s"])
    #expect(configuration.services == ["msgr"])
    #expect(configuration.store.path == "/db")
    #expect(configuration.logLevel == .debug)
    #expect(configuration.data == "/data")
  }

  @Test func manyNodes() throws {
    let (configuration, problems) = try Self.read(
      """
      [store]
      url = "postgresql://awd@db1,db2/awd?target_session_attrs=read-write"
      connections = 3
      lanes = 4
      [bus]
      url = "poll"
      poll = "500ms"
      [server]
      node = "north-1"
      """, ["AWD_STORE_PASSWORD": "hunter2"])
    #expect(problems == "")
    #expect(
      configuration.store.place
        == .postgreSQL("postgresql://awd@db1,db2/awd?target_session_attrs=read-write"))
    #expect(configuration.store.path == nil)
    #expect(configuration.store.password.value == "hunter2")
    #expect(configuration.store.connections == 3 && configuration.store.lanes == 4)
    #expect(configuration.bus.kind == .poll && configuration.bus.poll == .milliseconds(500))
    #expect(configuration.node == "north-1")
    let alone = try Self.read("", [:]).0
    #expect(alone.bus.kind == .store && alone.bus.poll == .seconds(2) && alone.node == nil)
    #expect(try Self.read("[bus]\nurl = 'nats://x'", [:]).1.contains("bus.url: expected `poll`"))
    #expect(try Self.read("[server]\nnode = 'a b'", [:]).1.contains("server.node: expected a name"))
  }

  @Test(arguments: [
    ("[server]\nlisten = []", "2:10: server.listen: expected at least one address"),
    (
      "[server]\nlisten = ['localhost:80']",
      #"2:11: server.listen[0]: expected an address such as "127.0.0.1:8080", "[::1]:8080" or "unix:/run/awd.sock", found "localhost:80""#
    ),
    (
      "[server]\nlisten = ['http://127.0.0.1:1', 'https://127.0.0.1:1']\ntls = { certificate = 'c', key = 'k' }",
      "2:10: server.listen: expected each address once, found https://127.0.0.1:1 again"
    ),
    (
      "[server]\nadmin_listen = '127.0.0.1:8080'",
      "2:16: server.admin_listen: expected an address that isn't in `listen`"
    ),
    ("[server]\ndata = ''", "2:8: server.data: expected the path of a folder"),
    (
      "[server]\ntrusted_proxies = ['proxy']",
      #"2:20: server.trusted_proxies[0]: expected an address or network such as "10.0.0.0/8", found "proxy""#
    ),
    (
      "[server]\npublic_url = 'wallet.example'",
      #"2:14: server.public_url: expected a URL such as "https://wallet.example", found "wallet.example""#
    ),
    (
      "[server.tls]\nkey = 'k'",
      "server.tls.certificate: expected a path, as `key` has one"
    ),
    (
      "[server]\ntls = { certificate = 'c', key = '' }",
      "2:34: server.tls.key: expected a path, as `certificate` has one"
    ),
    (
      "[server.limits]\nheader = '1B'",
      #"2:10: server.limits.header: expected a size from "1KiB" to "1MiB", found "1B""#
    ),
    (
      "[server.limits]\nidle_timeout = '0s'",
      #"2:16: server.limits.idle_timeout: expected a duration from "1ms" to "1d", found "0s""#
    ),
    (
      "[server.limits]\nconnections = 0",
      "2:15: server.limits.connections: expected an integer from 1 to 1000000, found 0"
    ),
    (
      "[store]\nurl = 'mysql://x'",
      #"2:7: store.url: expected a store such as "sqlite:awd.sqlite3" or "postgresql://awd@db.example/awd", found "mysql://x""#
    ),
  ])
  func bad(text: String, expected: String) throws {
    let (_, problems) = try Self.read(text, file: "awd.toml")
    #expect(problems == (expected.hasPrefix("server") ? "" : "awd.toml:") + expected)
  }
}

@Suite struct SecureListenerTests {
  @Test(arguments: [
    ("listen = ['https://127.0.0.1:1']", "server.listen: expected `tls` with a certificate"),
    ("admin_listen = 'https://127.0.0.1:1'", "server.admin_listen: expected `tls` with"),
    ("listen = ['https://127.0.0.1:1']\ntls = { certificate = 'c', key = 'k' }", ""),
    ("listen = ['http://127.0.0.1:1', '127.0.0.1:2']\ntls = { certificate = 'c', key = 'k' }", ""),
  ])
  func needCertificates(_ text: String, _ problem: String) throws {
    let reader = try reader("[server]\n\(text)")
    let configuration = ServerConfiguration(reader, knownServices: [])
    let found = problems(reader)
    #expect(problem.isEmpty ? found.isEmpty : found.contains(problem), "\(found)")
    if configuration.listen.count == 2 {
      #expect(configuration.listen.map(\.isSecure) == [false, true])
    }
  }

  @Test(arguments: [
    ("127.0.0.1:1", true), ("127.1.2.3:1", true), ("[::1]:1", true), ("unix:/a", true),
    ("0.0.0.0:1", false), ("[::]:1", false), ("192.168.0.1:1", false),
    ("[::ffff:127.0.0.1]:1", true),
  ])
  func knowWhoReachesThem(_ text: String, _ isLocal: Bool) throws {
    #expect(try #require(ListenAddress(text)).isLocal == isLocal)
  }
}
