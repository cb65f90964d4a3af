internal import Configuration
internal import MsgrProtocol
internal import Wire
internal import URLs

/// The reason why pushes can't be made, in words and without a secret.
struct PushSetupError: Error, CustomStringConvertible {
  let message: String

  var description: String { message }
}

/// The part of `[msgr]` that concerns pushes.
struct PushConfiguration: Sendable {
  /// The choices of push services for phones.
  enum Provider: String, CaseIterable, Sendable {
    /// Nothing is pushed, and no push is stored.
    case off
    /// Pushes are noted in the log, for development.
    case log
    /// Those that have a section with credentials.
    case on
    /// The same, with Apple's among them.
    case apns
  }

  /// The choice of push services.
  let provider: Provider
  /// True if `log` writes payloads to the log, and `GET /debug/pushes` shows them.
  let showsPushes: Bool
  /// The most pushes under way.
  let streams: Int
  /// Apple's push service, or nil if it isn't used.
  let apns: APNsConfiguration?
  /// Google's push service, or nil if it isn't used.
  let fcm: FCMConfiguration?

  /// Reads the keys, and records their faults.
  init(_ section: ConfigurationSection) {
    provider = section.choice("push", default: .off)
    showsPushes = section.bool("debug_pushes", default: false)
    streams = section.integer("push_streams", default: 100, in: 1...1000)
    let isOn = provider == .on || provider == .apns
    let apnsSection = section.section("apns")
    apns = APNsConfiguration(apnsSection, isUsed: isOn, isNeeded: provider == .apns)
    let fcm = FCMConfiguration(section.section("fcm"))
    self.fcm = isOn ? fcm : nil
    if provider == .on, fcm == nil, !APNsConfiguration.isGiven(in: apnsSection) {
      section.reject("push", "expected [msgr.apns] or [msgr.fcm] with credentials beside it")
    }
  }

  /// The kinds of push services that messages are pushed to; those of browsers in any case.
  var kinds: Set<PushKind> {
    if provider == .log { return Set(PushKind.allCases) }
    return Set([.web, apns.map { _ in .apns }, fcm.map { _ in .fcm }].compactMap(\.self))
  }

  /// Returns whether a device may log in: its push service must be configured where pushes are on.
  func takes(_ device: DeviceID) -> Bool {
    guard provider == .on || provider == .apns, let kind = device.pushKind else { return true }
    return kinds.contains(kind)
  }
}

/// The section `[msgr.apns]`.
struct APNsConfiguration: Sendable {
  /// The credentials that the server shows to Apple.
  enum Credentials: Sendable {
    /// The path of a `.p8` file with a key that signs tokens, the key's name and the team's.
    case token(key: String, keyID: String, teamID: String)
    /// The paths of a client certificate and its key, in PEM.
    case certificate(String, key: String)
  }

  /// The URL of the push service, without a slash at the end.
  let url: String
  /// The app's identifier.
  let topic: String
  /// The credentials that the server shows to Apple.
  let credentials: Credentials
  /// The path of a PEM file with the authorities of the push service's certificate, or an empty string for the
  /// system's.
  var roots = ""
}

extension APNsConfiguration {
  /// Reads the section.
  ///
  /// - Parameters:
  ///   - section: `[msgr.apns]`.
  ///   - isUsed: whether the section is used if it names something, so that the rest must be there.
  ///   - isNeeded: whether it must have them in any case.
  /// - Returns: nil if the section isn't used, or lacks something, which is recorded.
  init?(_ section: ConfigurationSection, isUsed: Bool, isNeeded: Bool) {
    let url = section.originURL("url", default: "https://api.push.apple.com")
    let topic = section.string("topic", default: "")
    let key = section.path("key", default: "", relativeTo: .data)
    let keyID = Self.name("key_id", section)
    let teamID = Self.name("team_id", section)
    let certificate = section.path("certificate", default: "", relativeTo: .data)
    let roots = section.path("roots", default: "")
    guard isNeeded || isUsed && Self.isGiven(in: section) else { return nil }
    if topic.isEmpty { section.reject("topic", "expected the app's bundle identifier") }
    let credentials: Credentials
    if !certificate.isEmpty {
      // Apple's own files hold both.
      credentials = .certificate(certificate, key: key.isEmpty ? certificate : key)
    } else {
      if key.isEmpty { section.reject("key", "expected the path of a .p8 file, or `certificate`") }
      if keyID == nil { section.reject("key_id", "expected the key's identifier") }
      if teamID == nil { section.reject("team_id", "expected the team's identifier") }
      guard let keyID, let teamID, !key.isEmpty else { return nil }
      credentials = .token(key: key, keyID: keyID, teamID: teamID)
    }
    guard !topic.isEmpty else { return nil }
    self.init(url: url, topic: topic, credentials: credentials, roots: roots)
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
