internal import Formats

/// The address of the server that wakes iPhones: with https, or with http on this machine.
struct UpstreamURL: Sendable, CustomStringConvertible {
  let description: String

  init?(_ text: String) {
    guard let url = WebURL(text, schemes: ["https", "http"]) else { return nil }
    let host = url.host.lowercased()
    let isLoopback = host == "localhost" || IPAddress(host)?.isLoopback == true
    guard url.scheme == "https" || isLoopback else { return nil }
    description = text.hasSuffix("/") ? String(text.dropLast()) : text
  }
}
