internal import Configuration
internal import Formats

/// The section `[push.web]`.
package struct WebPushConfiguration: Sendable {
  /// A `mailto:` or `https:` URL that a push service's operator may turn to, or nil for the server's own URL.
  let contact: String?
  /// Hosts and ports that may be reached although they aren't on the public Internet, or have another port than 443.
  let allowed: Set<HostAndPort>
  /// The path of a PEM file with the roots of those hosts' certificates, or an empty string for the system's.
  let roots: String
  /// The path of the key that pushes are signed with.
  package let key: String

  /// Makes a configuration with all defaults.
  init(dataFolder: String) {
    (contact, allowed, roots, key) = (nil, [], "", Self.defaultKey(in: dataFolder))
  }

  private static func defaultKey(in folder: String) -> String { "\(folder)/msgr-web-push.pem" }

  /// Reads the section, and records its faults.
  init(_ section: ConfigurationSection) {
    contact = section.optionalValue("contact", expected: "a mailto: or https: URL") { text in
      let isPlain = text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f }
      return isPlain && (text.hasPrefix("mailto:") || text.hasPrefix("https:")) ? text : nil
    }
    allowed = Set(
      section.values(
        "allow", default: [HostAndPort](), expected: "a host such as push.lan:8443",
        parse: { HostAndPort($0, ownPort: PushEndpoint.ownPort) }))
    roots = section.path("ca", default: "")
    key = section.path("key", default: Self.defaultKey(in: section.dataFolder), relativeTo: .data)
  }
}
