internal import Formats
internal import CUV
internal import Glibc
internal import Transport

/// A descriptor that listens.
struct ListeningSocket {
  let descriptor: Int32
  /// True if its connections speak TLS.
  let isSecure: Bool
}

/// A listening socket on one loop.
///
/// It is polled and accepted from here, not by libuv's streams, which accept and drop, or spin, when descriptors have run
/// out. This one rests for a while, and clients wait in the kernel's queue.
final class Listener {
  private let socket: ListeningSocket
  private unowned let server: ServerLoop
  private var watch: SocketWatch?
  private var pause: LoopTimer?

  /// The time that accepting rests when descriptors have run out.
  private static let rest = Duration.milliseconds(250)

  init?(_ socket: ListeningSocket, _ server: ServerLoop) {
    (self.socket, self.server) = (socket, server)
    watch = SocketWatch(socket.descriptor, on: server.loop) { [unowned self] _ in accept() }
    guard let watch else {
      Glibc.close(socket.descriptor)
      return nil
    }
    pause = LoopTimer(on: server.loop) { [unowned self] in resume() }
    watch.wait(for: .readable)
  }

  private func accept() {
    // A bounded batch, so that a flood of connections does not starve those that are open.
    for _ in 0..<64 {
      var address = sockaddr_storage()
      var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
      let accepted = unsafe withSocketAddress(&address, as: sockaddr.self) {
        unsafe cuv_accept(socket.descriptor, $0, &length)
      }
      if accepted < 0 {
        switch errno {
        case EAGAIN: return
        case ECONNABORTED, EINTR: continue
        case let code: return rest(unsafe String(cString: strerror(code)))
        }
      }
      server.accept(
        accepted, isLocal: Int32(address.ss_family) == AF_UNIX, isSecure: socket.isSecure,
        peer: Endpoint.text(of: &address))
    }
  }

  private func rest(_ reason: String) {
    watch?.stop()
    pause?.start(after: Listener.rest)
    server.statistics.acceptPauses.bump()
    server.core.report("no further connections are accepted for the moment: \(reason)")
  }

  private func resume() { watch?.wait(for: .readable) }

  /// Stops for good.
  func close() {
    watch?.close()
    pause?.close()
    Glibc.close(socket.descriptor)
  }
}
