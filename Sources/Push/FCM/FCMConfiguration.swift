internal import Configuration
internal import Formats

/// The section `[push.fcm]`.
package struct FCMConfiguration: Sendable {
  /// The path of the service account's file.
  package let credentials: String
  /// The project that is pushed for, or an empty string for the one of the file.
  let project: String
  /// The path of a PEM file with the authorities of both services' certificates, or an empty string for the system's.
  package let roots: String
  /// The URL of the push service, without a slash at the end.
  package let url: String
  /// The URL that access tokens are granted at, or nil for the one of the file.
  let tokenURL: String?

  /// Reads the section, and records its faults.
  ///
  /// - Returns: nil if no credentials are named.
  init?(_ section: ConfigurationSection) {
    credentials = section.path("credentials", default: "", relativeTo: .data)
    project = section.string("project", default: "")
    roots = section.path("roots", default: "")
    url = section.originURL("url", default: "https://fcm.googleapis.com")
    tokenURL = section.optionalValue("token_url", expected: "an https URL") { text in
      WebURL(text, schemes: ["https"]) == nil ? nil : text
    }
    guard !credentials.isEmpty else { return nil }
  }
}

extension ConfigurationSection {
  /// Reads the `https` URL of a push service, and takes a slash at its end off.
  func originURL(_ name: String, default fallback: String) -> String {
    value(name, default: fallback, expected: "an https URL without a path") { text in
      let url = text.hasSuffix("/") ? String(text.dropLast()) : text
      return WebURL(url, schemes: ["https"])?.isOrigin == true ? url : nil
    }
  }
}
