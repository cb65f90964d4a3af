internal import Foundation

/// Sockets on 127.0.0.1.
enum Loopback {
  /// Makes a socket that no child inherits.
  static func socket() -> Int32 {
    Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
  }

  /// Calls a closure with the address of a port, in the form that the system's calls take.
  static func withAddress<Result>(
    port: UInt16 = 0, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
  ) -> Result {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }

  /// Sends all bytes.
  ///
  /// - Returns: false if the other side takes nothing any more.
  static func send(_ bytes: [UInt8], on socket: Int32) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes {
        Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  /// Binds a socket to a port that is free.
  ///
  /// - Returns: the port.
  static func bindToFreePort(_ socket: Int32) throws -> UInt16 {
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound =
      withAddress { bind(socket, $0, $1) } == 0
      && withUnsafeMutablePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket, $0, &length) }
      } == 0
    guard isBound else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    return UInt16(bigEndian: address.sin_port)
  }
}

/// A port of 127.0.0.1 that the system gives to nobody else while the object lives.
///
/// Its socket does not listen, so a server can share the port, however often it starts.
package final class ReservedPort: Sendable {
  /// The port.
  package let number: UInt16
  private let socket = Loopback.socket()

  /// Reserves a port that is free.
  package init() throws {
    // What a server listens with allows it too, and so can share the port.
    var on: Int32 = 1
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
    number = try Loopback.bindToFreePort(socket)
  }

  deinit { close(socket) }
}
