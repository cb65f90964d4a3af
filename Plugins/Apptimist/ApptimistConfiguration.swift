package import Configuration
package import ServiceKit
package import Storage

internal import ApptimistProtocol
internal import Cryptography
internal import Ethereum
internal import Formats
internal import HTTPProtocol
internal import Push

/// The section `[apptimist]`.
package struct ApptimistConfiguration: ServiceConfiguration {
  /// The identity providers, which say who may make an account.
  enum Provider: String, CaseIterable, Sendable {
    case open, invite, facebook, oidc, siwe
  }

  /// The path at which sessions are opened, with a slash in front and none at the end.
  var path = Self.defaultPath
  var identity = Provider.open
  /// True if there is a page for people below ``path``.
  var hasWebApp = true
  /// The app at Facebook, which only that provider uses.
  var facebook = FacebookConfiguration()
  /// The issuer of ID tokens, which only that provider uses.
  var oidc = OIDCConfiguration()
  /// The rules for messages that wallets sign, which only that provider uses.
  var siwe = SignInRules(domain: "", uri: "", chains: [.main], maxAge: .seconds(600))
  /// The endpoints of chains.
  var chains: [ChainID: ChainEndpoint] = [:]
  /// The path of the file with the service's keys.
  var keys: String
  var store = ApptimistStore.Limits()
  var session = SessionLimits()
  var clients = ClientLimits()
  /// The way of pushes that wake devices.
  var push = PushMode.off
  var wakes = WakeLimits()
  /// The range of the random time for which a refused session is silent before it is closed.
  var refusal = Duration.seconds(1)...(.seconds(5))
  /// The most sessions of one user; with one more, the oldest is closed.
  var sessions = 64
  /// The time between two pings of a session.
  var pingInterval = Duration.seconds(30)
  /// The time for which a used ephemeral key is remembered.
  var ephemeralKeyAge = Duration.seconds(90 * 86_400)
  /// The time after which a lock ends that is not renewed.
  var lockLease = Duration.seconds(30)
  /// The most locks of one session.
  var locks = 64
  /// The time after which it is asked again who holds the tokens that forums ask for.
  var gateInterval = Duration.seconds(6 * 3600)
  /// The most items of a page of a list, in version 2.
  var pageMax = 100

  /// Makes the default configuration.
  ///
  /// - Parameter dataFolder: the folder in which the keys are kept.
  init(dataFolder: String) { keys = "\(dataFolder)/apptimist.keys" }

  /// Reads the section, and records its faults.
  package init(_ section: ConfigurationSection) {
    self.init(dataFolder: section.dataFolder)
    let day = Duration.seconds(86_400)
    path = section.value(
      "path", default: path, expected: "a path such as \"/siren\" that no other service has",
      parse: Self.path)
    identity = section.choice("identity", default: identity)
    hasWebApp = section.bool("web", default: hasWebApp)
    facebook = FacebookConfiguration(section.section("facebook"), isUsed: identity == .facebook)
    oidc = OIDCConfiguration(section.section("oidc"), isUsed: identity == .oidc)
    siwe = SignInRules(section.section("siwe"), path: path, isUsed: identity == .siwe)
    chains = ChainEndpoint.all(for: section)
    keys = section.path("keys", default: keys, relativeTo: .data)

    section.size("data_size", &session.frame.data, in: 1024...(16 << 20))
    section.size("header_size", &session.frame.header, in: 1024...(64 << 10))
    section.duration("login_timeout", &session.loginTime, in: .seconds(1)...day)
    let least = section.duration(
      "refusal_min", default: refusal.lowerBound, in: .zero ... .seconds(3600))
    let most = section.duration(
      "refusal_max", default: refusal.upperBound, in: .zero ... .seconds(3600))
    if least <= most {
      refusal = least...most
    } else {
      section.reject("refusal_max", "expected no less than refusal_min")
    }
    section.integer("sessions", &sessions, in: 1...100_000)
    section.duration("ping_interval", &pingInterval, in: .seconds(1)...day)
    section.duration("ephemeral_key_age", &ephemeralKeyAge, in: .seconds(60)...day * 3650)
    section.duration("lock_lease", &lockLease, in: .milliseconds(100)...day)
    section.integer("locks", &locks, in: 1...100_000)
    section.integer("page", &pageMax, in: 1...1_000)
    section.duration("gate_interval", &gateInterval, in: .seconds(1)...day * 365)

    section.integer("queue_messages", &store.mailboxEntries, in: 1...10_000_000)
    section.size("queue_size", &store.mailboxBytes, in: 1024...(1 << 40))
    section.integer("forums", &store.forums, in: 0...1_000_000)
    section.integer("files", &store.files, in: 0...1_000_000)
    section.size("directory_size", &store.directoryBytes, in: 0...(1 << 40))
    section.integer("reserved_keys", &store.reservedKeys, in: 1...1_000_000)
    section.integer("vouchers", &store.vouchers, in: 1...32_000)
    section.integer("search_results", &store.found, in: 1...5000)
    section.size("account_files_size", &store.accountBytes, in: 0...(1 << 40))
    section.integer("remembered_connections", &store.rememberedConnections, in: 1...1_000_000)
    section.duration("unused_mailbox_age", &store.unusedAge, in: day...day * 3650)
    store.linksPerAddress = section.multipliedByUsers(store.linksPerAddress)
    session.ownEntries = store.mailboxEntries
    clients.read(section)
    push = PushMode(section, default: push, hasWeb: true)
    section.integer("push_devices", &wakes.devices, in: 1...1_000)
    section.duration("push_age", &wakes.age, in: .seconds(1)...day * 3650)
    section.duration("wake_interval", &wakes.interval, in: .zero...day)
    section.duration("wake_hold", &wakes.hold, in: .zero...day)
    section.duration("wake_again", &wakes.again, in: .zero...day)
  }

  /// The service's name: the last segment of the path.
  var name: String { String(path.split(separator: "/").last ?? "") }

  private static let defaultPath = "/siren"

  /// Reads a path of unreserved characters: it stands in routes and in the URIs of redirects.
  private static func path(_ text: String) -> String? {
    let segments = text.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
    let isPath =
      text.hasPrefix("/")
      && segments.allSatisfy { segment in
        !["", ".", ".."].contains(segment) && PercentEncoding.encode(String(segment)) == segment
      }
    guard isPath else { return nil }
    // A path of one segment is a page or a request of whoever has the segment.
    let isTaken = ServiceRoutes.firstSegments.contains(String(text.dropFirst()))
    return isTaken && text != defaultPath ? nil : text
  }
}

/// The section `[apptimist.facebook]`.
struct FacebookConfiguration: Sendable {
  var appID = ""
  var appSecret = Secret("")
  /// The URL of Graph, without a slash at the end.
  var graphURL = "https://graph.facebook.com"
  /// The time that a response may take.
  var timeout = Duration.seconds(10)

  /// Makes the default configuration, which names no app.
  init() {}

  /// Reads the section, and records its faults.
  ///
  /// - Parameters:
  ///   - section: `[apptimist.facebook]`.
  ///   - isUsed: whether the section must name an app.
  init(_ section: ConfigurationSection, isUsed: Bool) {
    appID = section.string("app_id", default: appID)
    appSecret = section.secret("app_secret")
    graphURL = section.value(
      "graph_url", default: graphURL, expected: "an http or https URL"
    ) { text in
      let url = text.hasSuffix("/") ? String(text.dropLast()) : text
      return WebURL(url, schemes: ["http", "https"]).flatMap { $0.query == nil ? url : nil }
    }
    section.duration("timeout", &timeout, in: .milliseconds(100)...(.seconds(60)))
    guard isUsed else { return }
    if appID.isEmpty || !appID.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
      section.reject("app_id", "expected the app's number")
    }
    if appSecret.isEmpty { section.reject("app_secret", "expected the app's secret") }
  }
}

extension ApptimistConfiguration: Checking, BackedUp {
  /// The acknowledgements, as positions are given again that were given after the backup, and the open sessions.
  package static let unrestoredTables: [StaticString] = ["apptimist_devices", "apptimist_sessions"]

  /// The file of the service's keys.
  package var keyFiles: [String: String] { ["keys": keys] }

  /// Reads the file of the service's keys.
  package func keyFileProblem(_ key: String) -> String? {
    do throws(KeyFile.Failure) {
      _ = try KeyFile(path: keys).read()
      return nil
    } catch { return error.description }
  }

  /// Puts all messages into the mailboxes that they are for.
  package func applyPendingChanges(in store: Store) async throws {
    try await ApptimistStore(store: store, limits: self.store).flushAll()
  }

  /// Warns of keys that others may read, and of accounts that anybody may make.
  ///
  /// - Parameter isExposed: whether other machines reach the server.
  package func warnings(isExposed: Bool) -> [ContentFinding] {
    allFindings(isExposed: isExposed).filter { $0.grade == .doubtful }
  }

  /// Checks the keys, and who may make an account; blocks on the disk.
  ///
  /// - Parameter isExposed: whether other machines reach the server.
  /// - Returns: a finding for each thing that was checked.
  package func findings(isExposed: Bool) async -> [ContentFinding] {
    allFindings(isExposed: isExposed)
  }

  private func allFindings(isExposed: Bool) -> [ContentFinding] {
    var findings = [
      Self.finding(keys), Self.finding(identity, isExposed: isExposed),
    ]
    let url = facebook.graphURL
    if identity == .facebook, !url.hasPrefix("https://") {
      findings.append(.doubtful("facebook: the app's secret is sent to \(url) without TLS"))
    }
    let issuer = oidc.issuer
    if identity == .oidc, issuer.hasPrefix("http://") {
      findings.append(
        .doubtful(
          "oidc: the keys of \(issuer) come without TLS; anyone on the network path can make accounts"
        ))
    }
    if identity == .oidc, oidc.nonce == .optional {
      findings.append(
        .doubtful("oidc: nonce = \"optional\" lets anyone who gets a token use it for other keys"))
    }
    for chain in siwe.chains where identity == .siwe && chains[chain] == nil {
      findings.append(
        ContentFinding(
          .doubtful,
          "siwe: [chains] has no endpoint of chain \(chain), so that contracts can't sign in"))
    }
    return findings
  }

  private static func finding(_ path: String) -> ContentFinding {
    do throws(KeyFile.Failure) {
      let key = try KeyFile(path: path).read()?.identity.encryptionKey.hex
      let missing =
        "`awd serve` or `awd keys new` will make them; if devices know other keys, restore those first"
      return .good("keys \(path): \(key ?? missing)")
    } catch { return .wrong("keys \(error); the service does not start") }
  }

  private static func finding(_ provider: Provider, isExposed: Bool) -> ContentFinding {
    guard provider == .open else { return .good("identity: \(provider.rawValue)") }
    return isExposed
      ? .doubtful(
        #"identity: open lets anyone who reaches the server make any number of accounts; "invite" "#
          + "admits only those who are invited")
      : .good("identity: open, for this machine alone")
  }
}
