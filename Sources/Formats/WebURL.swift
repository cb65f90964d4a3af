internal import CCurl

/// An absolute URL with a host, and without user information and fragment (RFC 3986), taken apart by libcurl.
package struct WebURL: Sendable, Hashable {
  /// The scheme in lower case.
  package let scheme: String
  /// The name or address in lower case, that of IPv6 with its brackets.
  package let host: String
  /// The port, or nil if the URL has none.
  package let port: UInt16?
  /// The path, which begins with a slash.
  package let path: String
  /// The part behind the question mark, or nil without one.
  package let query: String?
  /// True if nothing follows host and port.
  package let isOrigin: Bool

  /// Reads a URL.
  ///
  /// - Parameters:
  ///   - text: the URL, in printable ASCII.
  ///   - schemes: the schemes that it may have.
  /// - Returns: nil for anything else, and for a host or a port that isn't written as libcurl understands it, such as `127.1`.
  package init?(_ text: String, schemes: Set<String>) {
    guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "\\") }),
      !text.utf8.contains(UInt8(ascii: "#")),
      let handle = unsafe curl_url()
    else { return nil }
    defer { unsafe curl_url_cleanup(handle) }
    let flags = UInt32(CURLU_NON_SUPPORT_SCHEME | CURLU_DISALLOW_USER | CURLU_PATH_AS_IS)
    guard unsafe curl_url_set(handle, CURLUPART_URL, text, flags) == CURLUE_OK,
      let scheme = unsafe Self.part(CURLUPART_SCHEME, of: handle), schemes.contains(scheme),
      let host = unsafe Self.part(CURLUPART_HOST, of: handle)?.lowercased(),
      let path = unsafe Self.part(CURLUPART_PATH, of: handle)
    else { return nil }
    let port = unsafe Self.part(CURLUPART_PORT, of: handle)
    let origin = "\(scheme)://\(host)\(port.map { ":\($0)" } ?? "")"
    let rest = text.dropFirst(origin.utf8.count)
    // libcurl repairs some URLs, which others may read in another way.
    guard text.lowercased().hasPrefix(origin), rest.isEmpty || "/?".contains(rest.prefix(1)),
      port != "0"
    else { return nil }
    self.scheme = scheme
    self.host = host
    self.port = port.flatMap { UInt16($0) }
    self.path = path
    query = unsafe Self.part(CURLUPART_QUERY, of: handle)
    isOrigin = rest.isEmpty
  }

  /// Returns the port that HTTP and WebSocket use unless another is written (RFC 9110, sections 4.2.1 and 4.2.2).
  package static func usualPort(isSecure: Bool) -> UInt16 { isSecure ? 443 : 80 }

  private static func part(_ part: CURLUPart, of handle: OpaquePointer) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    guard unsafe curl_url_get(handle, part, &text, 0) == CURLUE_OK, let text = unsafe text else {
      return nil
    }
    defer { unsafe curl_free(text) }
    return unsafe String(cString: text)
  }
}

/// A host, with a port or without, as URLs and `Host` have them: `push.lan:8443`, or `[2001:db8::1]`.
package struct HostAndPort: Hashable, Sendable, CustomStringConvertible {
  /// The name or address in lower case, that of IPv6 with its brackets.
  private let host: String
  /// The port, or nil for the scheme's own.
  package private(set) var port: UInt16?

  /// Extracts host and port of a URL, without a port that is its scheme's own.
  package init(_ url: WebURL, ownPort: UInt16) {
    host = url.host
    port = url.port == ownPort ? nil : url.port
  }

  /// Reads a host and a port.
  ///
  /// - Parameters:
  ///   - text: the host, and the port behind a colon if there is one.
  ///   - ownPort: the port of the scheme that they are of, which is left out.
  /// - Returns: nil for anything else.
  package init?(_ text: String, ownPort: UInt16) {
    guard let url = WebURL("http://\(text)", schemes: ["http"]), url.isOrigin else { return nil }
    self.init(url, ownPort: ownPort)
  }

  /// The host, and the port behind a colon if there is one.
  package var description: String { host + (port.map { ":\($0)" } ?? "") }
}
