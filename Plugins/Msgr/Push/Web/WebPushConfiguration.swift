internal import Configuration
internal import Cryptography
internal import Glibc
internal import MsgrProtocol
internal import ServiceKit

/// The section `[msgr.web_push]`.
struct WebPushConfiguration: Sendable {
  /// A `mailto:` or `https:` URL that a push service's operator may turn to, or nil for the server's own URL.
  let contact: String?
  /// Hosts and ports that may be reached although they aren't on the public Internet, or have another port than 443.
  let allowed: Set<HostAndPort>
  /// The path of a PEM file with the roots of those hosts' certificates, or an empty string for the system's.
  let roots: String
  /// The path of the key that pushes are signed with.
  let key: String

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
    key = section.path("key", default: "\(section.dataFolder)/msgr-web-push.pem", relativeTo: .data)
  }
}

extension WebPushConfiguration {
  /// Returns the findings of `awd check` on the key; blocks on the disk.
  var findings: [ContentFinding] {
    // The first start makes it.
    guard unsafe access(key, F_OK) == 0 else { return [] }
    do throws(PushSetupError) {
      _ = try P256KeyPair.read(from: key)
    } catch {
      return [ContentFinding(.wrong, "web push key \(error); the service does not start")]
    }
    let good = ContentFinding(.good, "web push key \(key): a key on P-256")
    return [good, ContentFinding.readersOfKey("web push key", key)].compactMap(\.self)
  }
}
