internal import Configuration

/// Why pushes can't be made; in words, without a secret.
struct PushSetupError: Error, CustomStringConvertible {
  let message: String

  var description: String { message }
}

/// What `[msgr]` says about pushing.
struct PushConfiguration: Sendable {
  /// The push services there are.
  enum Provider: String, CaseIterable, Sendable {
    case log, apns
  }

  /// The push service.
  var provider = Provider.log
  /// Whether `GET /debug/pushes` shows what `log` has got.
  var showsPushes = false
  /// The most pushes under way.
  var streams = 100
  /// Apple's push service; nil: another is used.
  var apns: APNsConfiguration?

  /// The defaults.
  init() {}

  /// Reads the keys, and records what is wrong with them.
  init(_ section: ConfigurationSection) {
    provider = section.choice("push", default: provider)
    showsPushes = section.bool("debug_pushes", default: showsPushes)
    streams = section.integer("push_streams", default: streams, in: 1...1000)
    apns = APNsConfiguration(section.section("apns"), isUsed: provider == .apns)
  }
}

/// The section `[msgr.apns]`.
struct APNsConfiguration: Sendable {
  /// What tells Apple who pushes.
  enum Credentials: Sendable {
    /// A key that signs tokens: the path of a `.p8` file, the key's and the team's name.
    case token(key: String, keyID: String, teamID: String)
    /// Paths of a client certificate and its key, PEM.
    case certificate(String, key: String)
  }

  /// Where pushes go, without a slash at the end.
  let url: String
  /// The app's identifier.
  let topic: String
  /// What tells Apple who pushes.
  let credentials: Credentials
  /// A PEM file with the authorities of the server's certificate; empty: the system's.
  let roots: String

  /// Credentials and all, without a file of configuration.
  init(url: String, topic: String, credentials: Credentials, roots: String = "") {
    self.url = url
    self.topic = topic
    self.credentials = credentials
    self.roots = roots
  }

  /// Reads the section.
  ///
  /// - Parameters:
  ///   - section: `[msgr.apns]`.
  ///   - isUsed: whether something must be there.
  /// - Returns: nil if it isn't used, or lacks something, which is recorded.
  init?(_ section: ConfigurationSection, isUsed: Bool) {
    let url = section.value(
      "url", default: "https://api.push.apple.com", expected: "an https URL without a path"
    ) { text in
      let url = text.hasSuffix("/") ? String(text.dropLast()) : text
      let host = url.dropFirst("https://".count)
      let isGood =
        host.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f } && !host.contains { "/?#@".contains($0) }
      return url.hasPrefix("https://") && !host.isEmpty && isGood ? url : nil
    }
    let topic = section.string("topic", default: "")
    let key = section.path("key", default: "", relativeTo: .data)
    let keyID = Self.name("key_id", section)
    let teamID = Self.name("team_id", section)
    let certificate = section.path("certificate", default: "", relativeTo: .data)
    let roots = section.path("roots", default: "")
    guard isUsed else { return nil }
    if topic.isEmpty { section.reject("topic", "expected the app's bundle identifier") }
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
    self.url = url
    self.topic = topic
    self.roots = roots
  }

  private static func name(_ key: String, _ section: ConfigurationSection) -> String? {
    section.optionalValue(key, expected: "letters and digits") { text in
      let isName =
        text.utf8.count <= 64 && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
      return isName ? text : nil
    }
  }
}
