internal import CPostgreSQL
internal import Glibc

/// The place of a PostgreSQL database, and the file with the password where one is needed.
///
/// The URL is libpq's, with any number of hosts and all its parameters but passwords, so that it may be shown.
public struct PostgreSQLAddress: Sendable, Hashable {
  /// The reason why an address is none.
  public struct Invalid: Error, Sendable, Hashable, CustomStringConvertible {
    /// The reason, without any part of a password.
    public let description: String
  }

  let url: String
  let passwordFile: String?

  /// Checks a URL.
  ///
  /// - Parameters:
  ///   - url: `postgresql://user@host:port/database?parameter=value`, as libpq takes it.
  ///   - passwordFile: the path of a file that holds the password, which is read for each new connection.
  /// - Throws: ``Invalid``.
  public init(_ url: String, passwordFile: String? = nil) throws(Invalid) {
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
    var option = unsafe options
    while let keyword = unsafe option.pointee.keyword {
      let name = unsafe String(cString: keyword)
      if ["password", "sslpassword"].contains(name), unsafe option.pointee.val != nil {
        throw Invalid(
          description: "a password doesn't belong there, where others see it, but in a file")
      }
      unsafe option += 1
    }
    self.url = url
    self.passwordFile = passwordFile
  }
}

extension PostgreSQLAddress {
  /// The password, read anew so that it can be changed without a restart; nil if there is no file.
  func password() throws(StoreError) -> String? {
    guard let passwordFile else { return nil }
    let descriptor = unsafe open(passwordFile, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw DatabaseFile.systemError("read the password of PostgreSQL's user")
    }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = unsafe bytes.withUnsafeMutableBytes { buffer in
      unsafe read(descriptor, buffer.baseAddress, buffer.count)
    }
    guard count >= 0 else {
      throw DatabaseFile.systemError("read the password of PostgreSQL's user")
    }
    // The line alone, however the file ends.
    let line = bytes.prefix(count).prefix {
      ![0, UInt8(ascii: "\n"), UInt8(ascii: "\r")].contains($0)
    }
    return String(decoding: line, as: UTF8.self)
  }
}

extension PostgreSQLAddress: CustomStringConvertible {
  /// The URL.
  public var description: String { url }
}
