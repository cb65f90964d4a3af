internal import CUV
internal import Glibc
internal import Synchronization

/// A descriptor that listens.
struct ListeningSocket {
  let descriptor: Int32
  /// Whether its connections speak TLS.
  let isSecure: Bool
}

/// A listening socket on one loop.
///
/// It is polled and accepted from here, not by libuv's streams: those answer a lack of descriptors by accepting and
/// dropping, or by spinning. This one rests until the next tick, and who waits, waits in the kernel's queue.
@safe
final class Listener {
  private let socket: ListeningSocket
  private unowned let loop: EventLoop
  private let poll = UnsafeMutablePointer<uv_poll_t>.allocate(capacity: 1)
  private var isPaused = false

  init(_ socket: ListeningSocket, loop: EventLoop, on uvLoop: UnsafeMutablePointer<uv_loop_t>) {
    self.socket = socket
    self.loop = loop
    unsafe uv_poll_init(uvLoop, poll, socket.descriptor)
    unsafe poll.pointee.data = Unmanaged.passUnretained(self).toOpaque()
    listen()
  }

  private func listen() {
    unsafe uv_poll_start(poll, Int32(UV_READABLE.rawValue)) { handle, _, _ in
      guard let data = unsafe handle?.pointee.data else { return }
      unsafe Unmanaged<Listener>.fromOpaque(data).takeUnretainedValue().accept()
    }
  }

  private func accept() {
    // A bounded batch, so that a flood of connections does not starve those that are open.
    for _ in 0..<64 {
      guard loop.server.hasRoom else { return pause("the limit of open connections is reached") }
      var address = sockaddr_storage()
      var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
      let accepted = unsafe withUnsafeMutablePointer(to: &address) {
        unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          unsafe cuv_accept(socket.descriptor, $0, &length)
        }
      }
      if accepted < 0 {
        switch errno {
        case EAGAIN: return loop.settle()
        case ECONNABORTED, EINTR: continue
        case let code:
          return pause(unsafe String(cString: strerror(code)))
        }
      }
      loop.adopt(
        accepted, isLocal: Int32(address.ss_family) == AF_UNIX, isSecure: socket.isSecure,
        peer: Endpoint.text(of: &address))
    }
    loop.settle()
  }

  private func pause(_ reason: String) {
    isPaused = true
    unsafe uv_poll_stop(poll)
    loop.statistics.acceptPauses.bump()
    loop.server.report("no further connections are accepted for the moment: \(reason)")
    loop.settle()
  }

  /// Goes on after a pause, if there is room again.
  func resume() {
    guard isPaused, loop.server.hasRoom else { return }
    isPaused = false
    listen()
  }

  /// Stops for good.
  func close() {
    // The handle outlives this object until libuv has let go of it.
    let descriptor = socket.descriptor
    unsafe uv_poll_stop(poll)
    unsafe uv_close(UnsafeMutableRawPointer(poll).assumingMemoryBound(to: uv_handle_t.self)) {
      handle in
      unsafe UnsafeMutableRawPointer(handle)?.deallocate()
    }
    Glibc.close(descriptor)
  }
}
