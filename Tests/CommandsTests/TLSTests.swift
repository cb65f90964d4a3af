internal import Configuration
internal import Cryptography
internal import Foundation
internal import Glibc
internal import HTTPServer
internal import Observability
internal import Routing
internal import ServiceKit
internal import Platform
internal import TestSupport
internal import Testing
internal import XMLSecurity

@testable import Commands

/// A service whose requests are confidential.
struct SecretService: Confidential {
  static let name = "secret"

  init(_ context: ServiceContext, _ configuration: EmptyConfiguration) async throws {}
  func register(on router: inout Router) {}
}

@Suite struct TLSTests {
  /// Makes a certificate and key in a folder, valid for some days since some days ago.
  private static func make(
    _ name: String, in folder: TemporaryFolder, since: Int64 = 1, days: Int = 100
  )
    throws
  {
    let key = try DevelopmentKey(
      .p256, commonName: name, notBefore: .now() - .seconds(since * 86_400), days: days)
    try DurableFile.create("\(folder.path)/\(name).key", key.keyPEM, mode: 0o600)
    try DurableFile.create("\(folder.path)/\(name).pem", key.certificatePEM)
  }

  private static func folder(_ certificate: String, _ key: String) throws -> TemporaryFolder {
    let folder = TemporaryFolder([
      "awd.toml": """
      [server]
      listen = ["127.0.0.1:0"]
      admin_listen = "http://127.0.0.1:0"
      data = "."
      tls = { certificate = "\(certificate)", key = "\(key)" }
      """
    ])
    try make("good", in: folder)
    try make("other", in: folder)
    try make("old", in: folder, since: 101)
    try make("soon", in: folder, since: 91)
    try make("early", in: folder, since: -1)
    return folder
  }

  @Test(arguments: [
    ("good.pem", "good.key", 0, "# server: good: TLS certificate", "days, until"),
    ("soon.pem", "soon.key", 0, "# server: doubtful: TLS certificate", "expires in"),
    ("old.pem", "old.key", 1, "# server: wrong: TLS certificate", "old.pem: expired on"),
    ("early.pem", "early.key", 1, "# server: wrong: TLS certificate", "not valid before"),
    ("good.pem", "other.key", 1, "# server: wrong: TLS key", "doesn't belong to"),
    ("none.pem", "good.key", 1, "none.pem: ", "No such file or directory"),
    ("good.pem", "none.key", 1, "# server: wrong: TLS key", "none.key: No such file or directory"),
    ("awd.toml", "good.key", 1, "# server: wrong: TLS certificate", "no certificate in PEM"),
  ])
  func checkSaysWhatIsWrong(
    _ certificate: String, _ key: String, _ code: Int32, _ start: String, _ end: String
  ) async throws {
    let folder = try Self.folder(certificate, key)
    let session = Session()
    #expect(
      await session.run(["check", "--verbose", "--config", "\(folder.path)/awd.toml"]) == code)
    let lines = session.output.split(separator: "\n")
    #expect(lines.contains { $0.contains(start) && $0.contains(end) }, "\(session.output)")
  }

  @Test func checkTellsOfAKeyThatOthersRead() async throws {
    let folder = try Self.folder("good.pem", "good.key")
    chmod("\(folder.path)/good.key", 0o644)
    let session = Session()
    #expect(await session.run(["check", "--verbose", "--config", "\(folder.path)/awd.toml"]) == 0)
    #expect(session.output.contains("doubtful: TLS key \(folder.path)/good.key: other users"))
  }

  /// Requests a URL with curl, which accepts only one certificate, and returns the body or curl's exit code.
  private static func ask(_ url: String, _ certificate: String) throws -> String {
    let outcome = try ChildProcess.run(
      "curl", ["-sk", "--pinnedpubkey", try pin(certificate), url])
    return outcome.code == 0 ? outcome.output : "curl: \(outcome.code)"
  }

  private static func pin(_ certificate: String) throws -> String {
    let script =
      "openssl x509 -in \"$0\" -noout -pubkey | openssl pkey -pubin -outform DER "
      + "| openssl dgst -sha256 -binary | openssl base64"
    let text = try ChildProcess.run("/bin/sh", ["-c", script, certificate]).output
    return "sha256//" + text.filter { !$0.isWhitespace }
  }

  @Test func aReloadShowsTheNewCertificateOrKeepsTheOldOne() async throws {
    let folder = try Self.folder("server.pem", "server.key")
    func install(_ certificate: String, _ key: String) throws {
      for (from, to) in [(certificate, "server.pem"), (key, "server.key")] {
        let data = try Data(contentsOf: URL(fileURLWithPath: "\(folder.path)/\(from)"))
        try data.write(to: URL(fileURLWithPath: "\(folder.path)/\(to)"), options: .atomic)
      }
    }
    try install("good.pem", "good.key")
    let load = { @Sendable () throws(ConfigurationError) in
      try LoadedConfiguration(
        file: "\(folder.path)/awd.toml", environment: [:], services: [SampleService.self])
    }
    let log = LogFile("\(folder.path)/log")
    try DataFolder.prepare("\(folder.path)/var")
    let runtime = try await ServiceRuntime.open(
      try load(), services: [SampleService.self], log: log.log, isServing: true)
    let daemon = try await Daemon(in: runtime, services: [SampleService.self])
    try daemon.start()
    let (signals, continuation) = AsyncStream.makeStream(of: StopSignals.Request.self)
    let running = Task {
      await daemon.run(
        until: signals, notifying: NotifySocket([:]), reloading: load)
    }
    func reload() async throws {
      let before = log.count { $0.contains("reloaded") || $0.contains("refused") }
      continuation.yield(.reload)
      try await waitUntil {
        log.count { $0.contains("reloaded") || $0.contains("refused") } > before
      }
    }
    let url = "https://\(try #require(daemon.server.secureEndpoints.first))/greeting"
    #expect(try Self.ask(url, "\(folder.path)/good.pem") == "hello")
    #expect(try Self.ask(url, "\(folder.path)/other.pem") == "curl: 90")

    for (certificate, key, reason) in [
      ("other.pem", "good.key", "doesn't belong"), ("old.pem", "old.key", "expired"),
      ("awd.toml", "good.key", "no certificate in PEM"),
    ] {
      try install(certificate, key)
      try await reload()
      #expect(log.count { $0.contains("the old one stays") && $0.contains(reason) } == 1)
      #expect(try Self.ask(url, "\(folder.path)/good.pem") == "hello")
    }
    try install("other.pem", "other.key")
    try await reload()
    #expect(try Self.ask(url, "\(folder.path)/other.pem") == "hello")

    let metrics = runtime.metrics.render()
    let end = try #require(daemon.server.credentials?.notAfter.seconds)
    let gauge = "awd_tls_certificate_expiry_timestamp_seconds"
    let line = try #require(metrics.split(separator: "\n").first { $0.hasPrefix("\(gauge) ") })
    #expect(Double(line.dropFirst(gauge.count + 1)) == Double(end))
    // The operator's routes answer at their own address only.
    let admin = try #require(daemon.adminServer?.endpoints.first)
    #expect(try Self.ask("http://\(admin)/metrics", "\(folder.path)/other.pem").contains(gauge))
    #expect(
      try !Self.ask(url.replacing("greeting", with: "metrics"), "\(folder.path)/other.pem")
        .contains(gauge))
    continuation.yield(.stop)
    await running.value.cancel()
    await runtime.leave()
  }

  @Test(
    arguments: [
      ("0.0.0.0:1", "", "", "secret takes secrets, which http://0.0.0.0:1 would let others read"),
      ("0.0.0.0:1", "", "\"10.0.0.1\"", nil), ("127.0.0.1:1", "", "", nil),
      // A proxy on this machine has no need of such an address.
      ("0.0.0.0:1", "", "\"127.0.0.1\"", "secret takes secrets"),
      ("[::1]:1", "", "", nil),
      ("unix:awd.sock", "", "", nil), ("https://0.0.0.0:1", "", "", "expected `tls` with"),
      ("0.0.0.0:1", "x", "", nil), ("http://0.0.0.0:1", "x", "", "secret takes secrets"),
    ] as [(String, String, String, String?)])
  func whatIsSecretNeedsTLSOffThisMachine(
    _ address: String, _ file: String, _ proxies: String, _ problem: String?
  ) throws {
    let folder = TemporaryFolder([
      "awd.toml": """
      [server]
      listen = ["\(address)"]
      trusted_proxies = [\(proxies)]
      tls = { certificate = "\(file)", key = "\(file)" }
      """
    ])
    let load = { () throws(ConfigurationError) in
      try LoadedConfiguration(
        file: "\(folder.path)/awd.toml", environment: [:], services: [SecretService.self])
    }
    guard let problem else {
      _ = try load()
      return
    }
    let error = #expect(throws: ConfigurationError.self) { _ = try load() }
    #expect(error.map { "\($0)".contains(problem) } == true, "\(String(describing: error))")
  }

  @Test func whatIsNotSecretNeedsNone() throws {
    let folder = TemporaryFolder(["awd.toml": "[server]\nlisten = [\"0.0.0.0:1\"]\n"])
    _ = try LoadedConfiguration(
      file: "\(folder.path)/awd.toml", environment: [:], services: [SampleService.self])
  }
}

/// A log whose lines can be read.
private final class LogFile {
  private let path: String
  private let descriptor: Int32
  let log: Log

  init(_ path: String) {
    self.path = path
    descriptor = open(path, O_WRONLY | O_CREAT, 0o600)
    log = Log(descriptor: descriptor)
  }

  deinit { close(descriptor) }

  func count(_ isMeant: (Substring) -> Bool) -> Int {
    log.flush()
    let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    return text.split(separator: "\n").count { isMeant($0) }
  }
}
