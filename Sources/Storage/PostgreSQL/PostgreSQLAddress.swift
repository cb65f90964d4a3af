internal import CPostgreSQL
internal import Glibc

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
  ///   - url: `postgresql://user@host:port/database?parameter=value`, as libpq accepts it.
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
        description:
          "it is no URL that libpq can read; the form is postgresql://user@host:port/database")
    }
    var given = Self.defaults()
    var option = unsafe options
    while let keyword = unsafe option.pointee.keyword {
      let name = unsafe String(cString: keyword)
      if let value = unsafe option.pointee.val {
        guard !["password", "sslpassword"].contains(name) else {
          throw Invalid(
            description:
              "it has a password, which others would see there; put it into the file that "
              + "AWD_STORE_PASSWORD_FILE names")
        }
        given[name] = unsafe String(cString: value)
      }
      unsafe option += 1
    }
    isUnverified = Self.leavesMachine(given) && given["sslmode"] != "verify-full"
    self.url = url
    self.password = password
  }
}

extension PostgreSQLAddress {
  /// The values that libpq gives to parameters that the URL leaves out: those of variables such as `PGHOST`, and of the
  /// service that `PGSERVICE` names.
  private static func defaults() -> [String: String] {
    guard let options = unsafe PQconndefaults() else { return [:] }
    defer { unsafe PQconninfoFree(options) }
    var defaults: [String: String] = [:]
    var option = unsafe options
    while let keyword = unsafe option.pointee.keyword {
      if let value = unsafe option.pointee.val {
        unsafe defaults[String(cString: keyword)] = String(cString: value)
      }
      unsafe option += 1
    }
    return defaults
  }

  /// Whether a connection may go to another machine. An address counts before a name, as libpq connects to it.
  private static func leavesMachine(_ parameters: [String: String]) -> Bool {
    let addresses = parameters["hostaddr"] ?? ""
    let hosts = addresses.isEmpty ? parameters["host"] ?? "" : addresses
    // A service's file may name any host.
    if hosts.isEmpty { return parameters["service"].map { !$0.isEmpty } ?? false }
    return hosts.split(separator: ",").contains { !isOfThisMachine(String($0)) }
  }

  /// Whether a host is a folder of sockets, an abstract socket, or this machine by its own name or a loopback address.
  private static func isOfThisMachine(_ host: String) -> Bool {
    if host.hasPrefix("/") || host.hasPrefix("@") || host == "localhost" { return true }
    var version4 = in_addr()
    if unsafe inet_pton(AF_INET, host, &version4) == 1 {
      return UInt32(bigEndian: version4.s_addr) >> 24 == 127
    }
    var version6 = in6_addr()
    var loopback = in6addr_loopback
    return unsafe inet_pton(AF_INET6, host, &version6) == 1
      && memcmp(&version6, &loopback, MemoryLayout<in6_addr>.size) == 0
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
