internal import CPostgreSQL
internal import FoundationEssentials

/// The place of a PostgreSQL database, and the password where one is needed.
///
/// The URL is libpq's, with any number of hosts and all its parameters but passwords, so that it may be shown.
package struct PostgreSQLAddress: Sendable, Hashable {
  /// The reason why an address is none.
  package struct Invalid: Error, Sendable, Hashable, CustomStringConvertible {
    /// The reason, without any part of a password.
    package let description: String
  }

  let url: String
  /// The password, or an empty text for none.
  let password: String
  /// True if a server on another machine needn't prove that it is the right one, so that anyone on the network path
  /// could pose as it.
  package let isUnverified: Bool

  /// Checks a URL.
  ///
  /// - Parameters:
  ///   - url: `postgresql://user@host:port/database?parameter=value`, as libpq takes it.
  ///   - password: the password of the URL's user. Empty: libpq looks for one, in `~/.pgpass` for instance.
  /// - Throws: ``Invalid``.
  package init(_ url: String, password: String = "") throws(Invalid) {
    guard url.hasPrefix("postgresql://") || url.hasPrefix("postgres://"), !url.utf8.contains(0)
    else { throw Invalid(description: "it must begin with postgresql://") }
    var message: UnsafeMutablePointer<CChar>?
    let options = unsafe PQconninfoParse(url, &message)
    defer {
      unsafe PQconninfoFree(options)
      unsafe PQfreemem(message)
    }
    guard let options = unsafe options else {
      // libpq's words quote a part of the URL, which may be one of a password.
      throw Invalid(
        description: "libpq can't read it; the form is postgresql://user@host:port/database")
    }
    var hosts: [Substring] = []
    var mode = ProcessInfo.processInfo.environment["PGSSLMODE"]
    var option = unsafe options
    while let keyword = unsafe option.pointee.keyword {
      let name = unsafe String(cString: keyword)
      if ["password", "sslpassword"].contains(name), unsafe option.pointee.val != nil {
        throw Invalid(
          description: "a password doesn't belong there, where others see it, "
            + "but in the file that AWD_STORE_PASSWORD_FILE names")
      }
      if let value = unsafe option.pointee.val {
        let text = unsafe String(cString: value)
        switch name {
        case "host", "hostaddr": hosts += text.split(separator: ",")
        case "sslmode": mode = text
        default: break
        }
      }
      unsafe option += 1
    }
    // A folder of sockets, an abstract socket, or this machine by its own name.
    let areHere = hosts.allSatisfy { host in
      ["/", "@", "127."].contains(where: host.hasPrefix) || ["localhost", "::1"].contains(host)
    }
    isUnverified = !areHere && mode != "verify-full"
    self.url = url
    self.password = password
  }
}

extension PostgreSQLAddress: CustomStringConvertible {
  /// The URL.
  package var description: String { url }
}

extension PostgreSQLAddress: CustomReflectable {
  /// A mirror without the password.
  package var customMirror: Mirror { Mirror(self, children: ["url": url]) }
}
