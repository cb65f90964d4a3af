internal import Foundation
internal import Synchronization

/// A server on 127.0.0.1 that runs a script on a thread of its own for each connection.
///
/// It listens until the process ends, as a test that has taken its URL may be done with the object before it is asked.
package final class RawServer: Sendable {
  /// The port.
  package let port: UInt16
  private let listener = Loopback.socket()
  private let accepted = Atomic<Int>(0)

  /// The number of connections that have come.
  package var connections: Int { accepted.load(ordering: .relaxed) }

  /// The server's URL without a path.
  package var url: String { "http://127.0.0.1:\(port)" }

  /// Starts a server.
  ///
  /// - Parameter script: is given each connection, which is closed when it returns.
  package init(_ script: @escaping @Sendable (RawConnection) -> Void) throws {
    port = try Loopback.bindToFreePort(listener)
    guard listen(listener, 16) == 0 else { throw POSIXError(.EADDRINUSE) }
    Thread.detachNewThread { [self] in
      // Closed by the thread that accepts: its number may be another's socket as soon as it is closed.
      defer { close(listener) }
      while case let socket = accept(listener, nil, nil), socket >= 0 {
        accepted.add(1, ordering: .relaxed)
        Thread.detachNewThread {
          script(RawConnection(socket: socket))
          close(socket)
        }
      }
    }
  }

  /// Takes no further connection.
  package func stop() { shutdown(listener, Int32(SHUT_RDWR)) }

  /// Starts a server that reads one request's head on each connection and responds with the same bytes.
  package static func responding(_ text: String) throws -> RawServer {
    try RawServer { connection in
      _ = connection.readHead()
      connection.write(text)
    }
  }
}

/// A connection to a ``RawServer``.
package struct RawConnection: Sendable {
  /// The connection's socket.
  package let socket: Int32

  /// Reads up to an empty line, or to the end.
  package func readHead() -> String {
    var bytes: [UInt8] = []
    var byte: UInt8 = 0
    while bytes.suffix(4) != [13, 10, 13, 10], read(socket, &byte, 1) == 1 { bytes.append(byte) }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Waits for the end of what the client sends.
  package func waitForEnd() {
    var byte: UInt8 = 0
    while read(socket, &byte, 1) == 1 {}
  }

  /// Sends a text.
  ///
  /// - Returns: false if the client takes nothing any more.
  @discardableResult
  package func write(_ text: String) -> Bool { Loopback.send(Array(text.utf8), on: socket) }
}
