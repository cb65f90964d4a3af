internal import Formats

/// A redirect of a repository or a location, which is followed within one origin, or from http to https of the same host.
enum TokenScriptRedirect: Equatable {
  /// The URL to ask next.
  case followed(String)
  /// The reason in words for which nobody is asked.
  case refused(String)

  /// The statuses of redirects that keep the method.
  static let codes: Set<UInt16> = [301, 302, 307, 308]
  /// The largest number of redirects one after another.
  static let limit = 5

  /// Decides on a redirect.
  ///
  /// - Parameters:
  ///   - source: the URL that was asked.
  ///   - location: the value of `Location`, which may be relative (RFC 9110 section 10.2.2), or nil.
  init(from source: String, to location: String?) {
    guard let location, !location.isEmpty else {
      self = .refused("a redirect that names no location")
      return
    }
    let schemes: Set = ["http", "https"]
    let reference = location.prefix { $0 != "#" }
    guard let old = WebURL(source, schemes: schemes),
      let target = Self.resolve(String(reference), against: old),
      let new = WebURL(target, schemes: schemes)
    else {
      self = .refused("a redirect to no URL that is followed")
      return
    }
    let isUpgrade = old.scheme == "http" && new.scheme == "https" && old.host == new.host
    guard Self.origin(old) == Self.origin(new) || isUpgrade else {
      self = .refused(
        "a redirect to \(Self.origin(new)), which is another origin and is not followed")
      return
    }
    self = .followed(target)
  }

  /// The scheme, the host and the port of a URL.
  private static func origin(_ url: WebURL) -> String {
    let port = url.port ?? WebURL.usualPort(isSecure: url.scheme == "https")
    return "\(url.scheme)://\(url.host):\(port)"
  }

  /// Returns an absolute URL for a reference (RFC 3986, section 5.2), with its dots as they are.
  private static func resolve(_ reference: String, against base: WebURL) -> String? {
    if reference.contains(/^[A-Za-z][A-Za-z0-9+.-]*:/) { return reference }
    if reference.hasPrefix("//") { return "\(base.scheme):\(reference)" }
    let port = base.port.map { ":\($0)" } ?? ""
    let origin = "\(base.scheme)://\(base.host)\(port)"
    if reference.hasPrefix("/") { return origin + reference }
    if reference.hasPrefix("?") { return origin + base.path + reference }
    let folder = base.path[...(base.path.lastIndex(of: "/") ?? base.path.startIndex)]
    return "\(origin)\(folder)\(reference)"
  }
}
