package import Configuration
internal import Formats

/// The reason why pushes can't be made, in words and without a secret.
package struct PushSetupError: Error, CustomStringConvertible {
  let message: String

  /// The reason.
  package var description: String { message }
}

/// The choice of a service: whether its pushes go out.
package enum PushMode: String, CaseIterable, Sendable {
  /// Nothing is pushed, and no push is stored.
  case off
  /// Pushes are recorded in the log, for development.
  case log
  /// Pushes go to those push services that have a section with credentials.
  case on

  /// Reads the key `push` of a service's section, and records what is wrong with it.
  ///
  /// - Parameters:
  ///   - fallback: the default.
  ///   - hasWeb: whether the service needs no push service of phones, as browsers have theirs.
  ///   - takesAPNs: whether `apns` is `on`, with Apple's push service among those that are named.
  package init(
    _ section: ConfigurationSection, default fallback: PushMode, hasWeb: Bool,
    takesAPNs: Bool = false
  ) {
    let needsAPNs = takesAPNs && section.string("push", default: fallback.rawValue) == "apns"
    self = needsAPNs ? .on : section.choice("push", default: fallback)
    guard self == .on, section.isServed else { return }
    let configuration = PushConfiguration(
      section.beside("push"), isUsed: true, needsAPNs: needsAPNs)
    if !hasWeb, !needsAPNs, !configuration.namesPhones {
      section.reject("push", "expected [push.apns] or [push.fcm] with credentials beside it")
    }
  }
}

/// The section `[push]`.
package struct PushConfiguration: Sendable {
  /// The names under which former releases had keys and tables.
  package static let formerNames = [
    "msgr.apns": "push.apns", "msgr.fcm": "push.fcm", "msgr.web_push": "push.web",
    "msgr.push_streams": "push.streams", "msgr.debug_pushes": "push.log_payloads",
  ]
  /// The name that backups and the nodes that share a database know the file of ``webKey`` by.
  package static let nameOfWebKey = "push.web.key"

  /// True if pushes to the log show their payloads there, and at `GET /debug/pushes`.
  package let showsPayloads: Bool
  /// The most pushes under way at each push service of phones.
  let streams: Int
  /// Apple's push service, or nil if it isn't configured.
  package let apns: APNsConfiguration?
  /// Google's push service, or nil if it isn't configured.
  package let fcm: FCMConfiguration?
  /// The pushes to browsers.
  package let web: WebPushConfiguration
  /// True if a push service of phones is named, be it complete or not.
  let namesPhones: Bool

  /// Reads the keys, and records their faults.
  ///
  /// - Parameters:
  ///   - isUsed: whether a push service that is named must be complete.
  ///   - needsAPNs: whether Apple's must be there.
  package init(_ section: ConfigurationSection, isUsed: Bool = false, needsAPNs: Bool = false) {
    let apnsSection = section.section("apns")
    let fcmSection = section.section("fcm")
    apns = APNsConfiguration(apnsSection, isUsed: isUsed, isNeeded: needsAPNs)
    fcm = FCMConfiguration(fcmSection)
    web = WebPushConfiguration(section.section("web"))
    namesPhones = fcm != nil || APNsConfiguration.isGiven(in: apnsSection)
    // After the nested sections, whose variables may look like these.
    streams = section.integer("streams", default: 100, in: 1...1000)
    showsPayloads = section.bool("log_payloads", default: false)
  }

  /// Makes a configuration without push services of phones.
  ///
  /// - Parameter dataFolder: the folder of all that the daemon keeps.
  package init(dataFolder: String) {
    showsPayloads = false
    streams = 100
    apns = nil
    fcm = nil
    namesPhones = false
    web = WebPushConfiguration(dataFolder: dataFolder)
  }

  /// The path of the key that subscriptions of browsers are bound to.
  package var webKey: String { web.key }
  /// What push services will make of the contact for browsers' pushes; nil if all is well, or if nothing is set and nothing
  /// pushed.
  package func contactDoubt(whilePushing isPushing: Bool) -> String? {
    web.isContactUnset && !isPushing ? nil : web.contactDoubt
  }

  /// The kinds of addresses that have a push service.
  package var kinds: Set<PushKind> {
    var kinds: Set<PushKind> = [.web]
    if apns != nil { kinds.formUnion([.apns, .apnsSandbox]) }
    if fcm != nil { kinds.insert(.fcm) }
    return kinds
  }
}

/// The section `[push.apns]`.
package struct APNsConfiguration: Sendable {
  /// The credentials that the server shows to Apple.
  package enum Credentials: Sendable {
    /// The path of a `.p8` file with a key that signs tokens, the key's name and the team's.
    case token(key: String, keyID: String, teamID: String)
    /// The paths of a client certificate and its key, in PEM.
    case certificate(String, key: String)
  }

  /// The URL of the push service, without a slash at the end.
  package let url: String
  /// The URL of the push service for apps that are being made, without a slash at the end.
  var sandboxURL = ""
  /// The app's identifier.
  package let topic: String
  /// The credentials that the server shows to Apple.
  package let credentials: Credentials
  /// The path of a PEM file with the authorities of the push service's certificate, or an empty string for the
  /// system's.
  package var roots = ""
  /// True if the app may send critical alerts, which Apple grants on request.
  package var mayBeCritical = false
}

extension APNsConfiguration {
  /// Reads the section.
  ///
  /// - Parameters:
  ///   - section: `[push.apns]`.
  ///   - isUsed: whether the rest must be there if it names something.
  ///   - isNeeded: whether it must have them in any case.
  /// - Returns: nil if the section isn't used, or lacks something, which is recorded.
  init?(_ section: ConfigurationSection, isUsed: Bool, isNeeded: Bool) {
    let url = section.originURL("url", default: "https://api.push.apple.com")
    let sandboxURL = section.originURL("sandbox_url", default: "https://api.sandbox.push.apple.com")
    let topic = section.string("topic", default: "")
    let key = section.path("key", default: "", relativeTo: .data)
    let keyID = Self.name("key_id", section)
    let teamID = Self.name("team_id", section)
    let certificate = section.path("certificate", default: "", relativeTo: .data)
    let roots = section.path("roots", default: "")
    let mayBeCritical = section.bool("critical", default: false)
    guard isNeeded || Self.isGiven(in: section) else { return nil }
    let reject = { if isUsed || isNeeded { section.reject($0, $1) } }
    if topic.isEmpty { reject("topic", "expected the app's bundle identifier") }
    let credentials: Credentials
    if !certificate.isEmpty {
      // Apple's own files hold both.
      credentials = .certificate(certificate, key: key.isEmpty ? certificate : key)
    } else {
      if key.isEmpty { reject("key", "expected the path of a .p8 file, or `certificate`") }
      if keyID == nil { reject("key_id", "expected the key's identifier") }
      if teamID == nil { reject("team_id", "expected the team's identifier") }
      guard let keyID, let teamID, !key.isEmpty else { return nil }
      credentials = .token(key: key, keyID: keyID, teamID: teamID)
    }
    guard !topic.isEmpty else { return nil }
    self.init(
      url: url, sandboxURL: sandboxURL, topic: topic, credentials: credentials, roots: roots,
      mayBeCritical: mayBeCritical)
  }

  /// Returns whether a section that was read names credentials or an app.
  static func isGiven(in section: ConfigurationSection) -> Bool {
    ["topic", "key", "key_id", "team_id", "certificate"].contains(where: section.isGiven)
  }

  private static func name(_ key: String, _ section: ConfigurationSection) -> String? {
    section.optionalValue(key, expected: "letters and digits") { text in
      text.utf8.count <= 64 && text.utf8.allSatisfy(\.isLetterOrDigit) ? text : nil
    }
  }
}
