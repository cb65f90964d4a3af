internal import CUV
internal import Glibc

/// An attempt to connect to a host over TCP: looks its addresses up and tries one after the other. It is touched on its
/// loop's thread only.
@safe
package final class ConnectionAttempt {
  /// The reason for which there is no connection.
  package enum Failure: Error, Sendable, Equatable {
    /// The host's name has no address.
    case unknownHost
    /// Nobody listens on any of the addresses.
    case notConnected
    /// It took longer than it may.
    case timedOut
    /// The system lacks memory or descriptors.
    case outOfResources
  }

  private enum State {
    /// The host's addresses are looked up, on a thread of libuv's pool.
    case resolving
    /// The look-up can't be begun.
    case unresolvable
    /// An address is tried; the others follow if it fails.
    case connecting(socket: Int32, SocketWatch, rest: ArraySlice<sockaddr_storage>)
    case over
  }

  private let loop: EventLoop
  private let deadline: Int64
  private let completion: (Result<Int32, Failure>) -> Void
  private var state = State.resolving
  /// Ends the look-up, or the try of an address; nil once the attempt is over. It and the watch hold the attempt, and
  /// the attempt them.
  private var timer: LoopTimer?

  /// Begins an attempt.
  ///
  /// - Parameters:
  ///   - host: a name or an address, without brackets.
  ///   - completion: called once on the loop, unless the attempt is cancelled before, with a non-blocking socket that
  ///     is the callee's from then on.
  package init(
    host: String, port: UInt16, within limit: Duration, on loop: EventLoop,
    completion: @escaping (Result<Int32, Failure>) -> Void
  ) {
    self.loop = loop
    self.completion = completion
    deadline = loop.now(after: limit)
    timer = LoopTimer(on: loop) { [self] in timeIsOver() }
    timer?.start(after: limit)
    resolve(host, port)
  }

  /// Drops the attempt, without a call of its completion.
  package func cancel() { end() }

  private func end() {
    abandonSocket()
    state = .over
    timer?.close()
    timer = nil
  }

  private func end(_ result: Result<Int32, Failure>) {
    end()
    completion(result)
  }

  private func abandonSocket() {
    guard case .connecting(let socket, let watch, _) = state else { return }
    watch.close()
    close(socket)
    state = .resolving
  }

  private func timeIsOver() {
    switch state {
    case .resolving: end(.failure(.timedOut))
    case .unresolvable: end(.failure(.outOfResources))
    case .connecting(_, _, let rest): tryNext(of: rest, otherwise: .timedOut)
    case .over: break
    }
  }

  // MARK: - Resolving

  private func resolve(_ host: String, _ port: UInt16) {
    let request = UnsafeMutablePointer<uv_getaddrinfo_t>.allocate(capacity: 1)
    // The request holds the attempt until its callback, which comes also if the attempt is over by then.
    unsafe request.pointee.data = Unmanaged.passRetained(self).toOpaque()
    var hints = unsafe addrinfo()
    unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    let failed = unsafe uv_getaddrinfo(
      loop.loop, request,
      { request, status, list in
        guard let request = unsafe request, let data = unsafe request.pointee.data else { return }
        let attempt = unsafe Unmanaged<ConnectionAttempt>.fromOpaque(data).takeRetainedValue()
        let addresses = status == 0 ? unsafe ConnectionAttempt.addresses(in: list) : []
        unsafe uv_freeaddrinfo(list)
        unsafe request.deallocate()
        attempt.resolved(addresses)
        attempt.loop.endTurn()
      }, host, String(port), &hints)
    guard failed != 0 else { return }
    unsafe Unmanaged.passUnretained(self).release()
    unsafe request.deallocate()
    state = .unresolvable
    // Reported by the timer, not before the caller has the attempt.
    timer?.start(after: .zero)
  }

  private static func addresses(in list: UnsafeMutablePointer<addrinfo>?) -> [sockaddr_storage] {
    var addresses: [sockaddr_storage] = []
    var next = unsafe list
    while let entry = unsafe next {
      unsafe next = entry.pointee.ai_next
      let length = unsafe Int(entry.pointee.ai_addrlen)
      guard let address = unsafe entry.pointee.ai_addr,
        length <= MemoryLayout<sockaddr_storage>.size
      else { continue }
      var storage = sockaddr_storage()
      unsafe withUnsafeMutableBytes(of: &storage) {
        unsafe $0.copyMemory(from: UnsafeRawBufferPointer(start: address, count: length))
      }
      addresses.append(storage)
    }
    return addresses
  }

  private func resolved(_ addresses: [sockaddr_storage]) {
    guard case .resolving = state else { return }
    tryNext(of: addresses[...], otherwise: .unknownHost)
  }

  // MARK: - Connecting

  /// Tries the next address; each has its share of the time that is left.
  private func tryNext(of addresses: ArraySlice<sockaddr_storage>, otherwise failure: Failure) {
    abandonSocket()
    var rest = addresses
    guard let address = rest.popFirst() else { return end(.failure(failure)) }
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    let socket = Glibc.socket(Int32(address.ss_family), kind, 0)
    guard socket >= 0 else { return tryNext(of: rest, otherwise: .outOfResources) }
    guard ConnectionAttempt.begin(socket, to: address),
      let watch = SocketWatch(socket, on: loop, act: { [self] _ in didConnect() })
    else {
      close(socket)
      return tryNext(of: rest, otherwise: .notConnected)
    }
    state = .connecting(socket: socket, watch, rest: rest)
    watch.wait(for: .writable)
    timer?.start(after: .milliseconds(max(0, deadline - loop.now) / Int64(rest.count + 1)))
  }

  /// Asks the system to connect a socket.
  ///
  /// - Returns: whether it is connected, or may be later.
  private static func begin(_ socket: Int32, to address: sockaddr_storage) -> Bool {
    var address = address
    var on: Int32 = 1
    unsafe setsockopt(
      socket, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
    let length =
      Int32(address.ss_family) == AF_INET6
      ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size
    return unsafe withSocketAddress(&address, as: sockaddr.self) {
      unsafe connect(socket, $0, socklen_t(length)) == 0 || errno == EINPROGRESS
    }
  }

  private func didConnect() {
    guard case .connecting(let socket, let watch, let rest) = state else { return }
    guard socketError(of: socket) == 0 else {
      return tryNext(of: rest, otherwise: .notConnected)
    }
    watch.close()
    state = .over
    end(.success(socket))
  }
}

/// Lends a socket's address in the form that a system call takes.
///
/// - Parameter form: the form, such as `sockaddr`.
/// - Returns: the closure's result.
@inlinable
package func withSocketAddress<Address, Form, Value>(
  _ address: inout Address, as form: Form.Type,
  _ body: (UnsafeMutablePointer<Form>) -> Value
) -> Value {
  unsafe withUnsafeMutablePointer(to: &address) {
    unsafe $0.withMemoryRebound(to: form, capacity: 1, body)
  }
}

/// Takes the error of a socket that no call on it has reported yet: its `errno`, or 0.
func socketError(of socket: Int32) -> Int32 {
  var code: Int32 = 0
  var size = socklen_t(MemoryLayout<Int32>.size)
  unsafe getsockopt(socket, SOL_SOCKET, SO_ERROR, &code, &size)
  return code
}

/// Reports when a descriptor can be read or written; touched on its loop's thread only.
@safe
package final class SocketWatch {
  /// The events that are watched for, or have come.
  package struct Events: OptionSet, Sendable {
    /// The bits as libuv numbers them.
    package let rawValue: Int32

    /// Events by their bits.
    package init(rawValue: Int32) { self.rawValue = rawValue }

    /// The descriptor can be read.
    package static let readable = Events(rawValue: Int32(UV_READABLE.rawValue))
    /// The descriptor can be written.
    package static let writable = Events(rawValue: Int32(UV_WRITABLE.rawValue))
    /// The descriptor is broken; never watched for.
    package static let failed = Events(rawValue: 1 << 16)
  }

  private let handle = UnsafeMutablePointer<uv_poll_t>.allocate(capacity: 1)
  private unowned let loop: EventLoop
  private let act: (Events) -> Void

  /// Makes a watch that waits for nothing yet; ``close()`` must be called before the descriptor is closed.
  ///
  /// - Parameters:
  ///   - descriptor: a socket, which becomes non-blocking.
  ///   - act: called with the events that came.
  /// - Returns: nil if the system can't watch the descriptor.
  package init?(_ descriptor: Int32, on loop: EventLoop, act: @escaping (Events) -> Void) {
    self.loop = loop
    self.act = act
    guard unsafe uv_poll_init(loop.loop, handle, descriptor) == 0 else {
      unsafe handle.deallocate()
      return nil
    }
    // libuv holds the handle, and it the watch, until the handle is closed.
    unsafe handle.pointee.data = Unmanaged.passRetained(self).toOpaque()
  }

  /// Waits for events from now on, in place of those before.
  ///
  /// - Parameter events: ``Events/readable``, ``Events/writable`` or both.
  package func wait(for events: Events) {
    unsafe uv_poll_start(handle, events.rawValue) { handle, status, bits in
      let watch = unsafe Unmanaged<SocketWatch>.object(of: handle?.pointee.data)
      watch.act(status < 0 ? .failed : Events(rawValue: bits))
      watch.loop.endTurn()
    }
  }

  /// Waits for nothing.
  package func stop() { unsafe uv_poll_stop(handle) }

  /// Stops for good and frees the handle.
  package func close() {
    unsafe uv_poll_stop(handle)
    unsafe handle.handle.closeAndReleaseOwner()
  }
}
