package import Configuration
internal import Cryptography
internal import Push
package import ServiceKit
internal import Platform
internal import Formats

/// The section `[pushserver]`.
package struct PushServerConfiguration: ServiceConfiguration {
  let push: PushMode
  private let pushServices: PushConfiguration
  /// The key that the relay signs messages with, or nil where the service is off.
  let relay: AuthenticationPublicKey?
  /// The names below which everything is served too.
  let projects: [String]
  /// True if clients may come without a signature.
  let allowsUnsigned: Bool
  /// The life of a push.
  let life: Duration
  /// The time after which a client goes that was neither registered nor pushed to.
  let clientAge: Duration
  /// The time after which a client goes that was never pushed to.
  let unpushedAge: Duration
  let registrationsPerMinute: Int
  let registrationsPerDay: Int
  let pushesPerMinute: Int
  /// The most clients.
  let clients: Int

  /// Reads the section, and records its faults.
  package init(_ section: ConfigurationSection) {
    push = PushMode(section, default: .on, hasWeb: false)
    if push == .off { section.reject("push", "expected \"on\" or \"log\"") }
    pushServices = PushConfiguration(section.beside("push"))
    let many = 1...1_000_000_000
    let key = section.string("relay_key", default: "")
    relay = AuthenticationPublicKey(hex: key).flatMap { $0.isLowOrder ? nil : $0 }
    if section.isServed || !key.isEmpty, relay == nil {
      section.reject("relay_key", "expected the relay's Ed25519 key as 64 hexadecimal digits")
    }
    let server = section.beside("server")
    if section.isServed, server.string("public_url", default: "").isEmpty {
      server.reject("public_url", "expected a URL, as wallets sign it for [pushserver]")
    }
    projects = section.values(
      "projects", default: [], expected: "letters, digits, - and _, 64 at most"
    ) { text in
      let isWord = text.utf8.allSatisfy { $0.isLetterOrDigit || "-_".utf8.contains($0) }
      return (1...64).contains(text.utf8.count) && isWord ? text : nil
    }
    if Set(projects).count < projects.count {
      section.reject("projects", "expected each name once")
    }
    allowsUnsigned = section.bool("unsigned", default: false)
    life = section.duration(
      "life", default: .seconds(86_400), in: .seconds(1) ... .seconds(2_419_200))
    clientAge = section.duration(
      "client_age", default: .seconds(180 * 86_400), in: .seconds(86_400) ... .seconds(315_360_000))
    unpushedAge = section.duration(
      "unpushed_age", default: .seconds(14 * 86_400), in: .seconds(3600) ... .seconds(315_360_000))
    registrationsPerMinute = section.multipliedByUsers(
      section.integer("registrations_per_minute", default: 100, in: many))
    registrationsPerDay = section.multipliedByUsers(
      section.integer("registrations_per_day", default: 1000, in: many))
    pushesPerMinute = section.integer("pushes_per_minute", default: 60, in: many)
    clients = section.integer("clients", default: 1_000_000, in: many)
  }
}

extension PushServerConfiguration: Checking {
  /// Checks the keys and certificates that pushes are made with.
  ///
  /// - Parameter isExposed: whether other machines reach the server.
  /// - Returns: a finding for each.
  package func findings(isExposed: Bool) async -> [ContentFinding] {
    push.findings(pushServices, hasWeb: false, isExposed: isExposed, at: .now())
  }
}
