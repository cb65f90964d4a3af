internal import COpenSSL
internal import Glibc
internal import Synchronization
internal import Platform

/// A request as the stand-in got it.
package struct StandInRequest: Sendable {
  /// The connection, counted from 1.
  package let connection: Int
  /// All fields in order, the pseudo-fields first.
  package var fields: [(name: String, value: String)] = []
  /// The body.
  package var body: [UInt8] = []

  /// The value of the only field with a name; nil if there is none or several.
  package subscript(name: String) -> String? {
    let values = fields.filter { $0.name == name }.map(\.value)
    return values.count == 1 ? values[0] : nil
  }
}

/// The reaction of the stand-in to a request.
package enum StandInResponse: Sendable {
  /// Responds after some milliseconds, and not before so many requests have been under way at once; with `goesAway`, says
  /// at once that it takes no more requests.
  case respond(
    Int, fields: [String: String] = [:], body: String = "", after: Int = 0, among: Int = 1,
    goesAway: Bool = false)
  /// Says that it takes no more requests, nor has taken this one.
  case refuse
  /// Resets the stream.
  case reset
  /// Never responds.
  case silence
  /// Cuts the connection.
  case drop
}

/// An HTTP/2 server over TLS on 127.0.0.1 that responds as a script says.
package final class HTTP2StandIn: @unchecked Sendable {
  // Safe to share: nothing is changed after `init` but the counts.

  /// Decides about a whole request, on the connection's thread.
  package typealias Script = @Sendable (StandInRequest) -> StandInResponse

  /// The failures of a start.
  package struct Failure: Error {}

  /// The port that it listens on.
  package let port: UInt16
  private let listener: Int32
  private let context: OpaquePointer
  private let counts = Counts()

  private final class Counts: Sendable {
    let connections = Atomic<Int>(0)
    let mostStreams = Atomic<Int>(0)
  }

  /// - Parameters:
  ///   - certificate: the server's certificate, a PEM file.
  ///   - key: its key, a PEM file.
  ///   - clientCA: whose certificates clients must show, a PEM file.
  ///   - streams: the number of requests that may be under way on a connection.
  ///   - script: decides about each request.
  package init(
    certificate: String, key: String, clientCA: String? = nil, streams: UInt32 = 1000,
    script: @escaping Script
  ) throws {
    guard let context = SSL_CTX_new(TLS_server_method()),
      SSL_CTX_use_certificate_chain_file(context, certificate) == 1,
      SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1
    else { throw Failure() }
    self.context = context
    if let clientCA {
      guard SSL_CTX_load_verify_file(context, clientCA) == 1 else { throw Failure() }
      SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
    }
    SSL_CTX_set_alpn_select_cb(
      context,
      { _, output, length, offered, count, _ in
        var offers = UnsafeBufferPointer(start: offered, count: Int(count))[...]
        while let size = offers.popFirst(), Int(size) <= offers.count {
          let name = offers.prefix(Int(size))
          if name.elementsEqual("h2".utf8), let offered {
            output?.pointee = offered + name.startIndex
            length?.pointee = 2
            return SSL_TLSEXT_ERR_OK
          }
          offers.removeFirst(Int(size))
        }
        return SSL_TLSEXT_ERR_ALERT_FATAL
      }, nil)
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    self.listener = listener
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let bound = withUnsafeMutableBytes(of: &address) { bytes in
      guard let address = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self) else {
        return false
      }
      return bind(listener, address, length) == 0 && listen(listener, 64) == 0
        && getsockname(listener, address, &length) == 0
    }
    guard bound else { throw Failure() }
    port = UInt16(bigEndian: address.sin_port)
    let counts = self.counts
    SSL_CTX_up_ref(context)
    let shared = UInt(bitPattern: context)
    _ = try WorkerThread(named: "test") {
      // Closed by the thread that accepts: its number may be another's socket as soon as it is closed.
      defer { close(listener) }
      guard let context = OpaquePointer(bitPattern: shared) else { return }
      defer { SSL_CTX_free(context) }
      while case let socket = accept(listener, nil, nil), socket >= 0 {
        guard let tls = SSL_new(context) else { break }
        let number = counts.connections.add(1, ordering: .relaxed).newValue
        let handle = UInt(bitPattern: tls)
        _ = try? WorkerThread(named: "test") {
          guard let tls = OpaquePointer(bitPattern: handle) else { return }
          StandInConnection(number, tls, socket, script).serve(streams: streams) { open in
            counts.mostStreams.max(open, ordering: .relaxed)
          }
          SSL_free(tls)
          close(socket)
        }
      }
    }
  }

  deinit {
    shutdown(listener, Int32(SHUT_RDWR))
    SSL_CTX_free(context)
  }

  /// The number of connections that have come.
  package var connections: Int { counts.connections.load(ordering: .relaxed) }
  /// The largest number of requests that were under way at once on one connection.
  package var mostStreams: Int { counts.mostStreams.load(ordering: .relaxed) }
  /// The URL that it listens on.
  package var url: String { "https://127.0.0.1:\(port)" }
}
