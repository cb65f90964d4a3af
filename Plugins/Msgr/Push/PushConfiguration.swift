internal import Configuration
internal import Wire
internal import URLs

/// The reason why pushes can't be made, in words and without a secret.
struct PushSetupError: Error, CustomStringConvertible {
  let message: String

  var description: String { message }
}

/// The part of `[msgr]` that concerns pushes.
struct PushConfiguration: Sendable {
  /// The kinds of push service.
  enum Provider: String, CaseIterable, Sendable {
    /// Nothing is pushed, and no push is stored.
    case off
    /// Pushes are noted in the log, for development.
    case log
    /// Apple's push service.
    case apns
  }

  /// The push service.
  let provider: Provider
  /// True if `log` writes payloads to the log, and `GET /debug/pushes` shows them.
  let showsPushes: Bool
  /// The most pushes under way.
  let streams: Int
  /// Apple's push service, or nil if another is used.
  let apns: APNsConfiguration?

  /// Reads the keys, and records their faults.
  init(_ section: ConfigurationSection) {
    provider = section.choice("push", default: .off)
    showsPushes = section.bool("debug_pushes", default: false)
    streams = section.integer("push_streams", default: 100, in: 1...1000)
    apns = APNsConfiguration(section.section("apns"), isUsed: provider == .apns)
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
  ///   - isUsed: whether the section is used, so that its keys must be there.
  /// - Returns: nil if the section isn't used, or lacks something, which is recorded.
  init?(_ section: ConfigurationSection, isUsed: Bool) {
    let url = section.value(
      "url", default: "https://api.push.apple.com", expected: "an https URL without a path"
    ) { text in
      let url = text.hasSuffix("/") ? String(text.dropLast()) : text
      return WebURL(url, schemes: ["https"])?.isOrigin == true ? url : nil
    }
    let topic = section.string("topic", default: "")
    let key = section.path("key", default: "", relativeTo: .data)
    let keyID = Self.name("key_id", section)
    let teamID = Self.name("team_id", section)
    let certificate = section.path("certificate", default: "", relativeTo: .data)
    let roots = section.path("roots", default: "")
    guard isUsed else { return nil }
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

  private static func name(_ key: String, _ section: ConfigurationSection) -> String? {
    section.optionalValue(key, expected: "letters and digits") { text in
      text.utf8.count <= 64 && text.utf8.allSatisfy(\.isLetterOrDigit) ? text : nil
    }
  }
}
