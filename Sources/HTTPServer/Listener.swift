internal import CUV
internal import Formats
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
    self.socket = socket
    self.server = server
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

extension Endpoint {
  /// Opens a socket that listens here, non-blocking and closed on exec.
  ///
  /// - Returns: the descriptor, and the endpoint with the port that was really bound.
  /// - Throws: ``ServerError`` with the address and the system's error.
  func listen(
    socket access: SocketAccess = SocketAccess()
  ) throws(ServerError) -> (descriptor: Int32, bound: Endpoint) {
    switch self {
    case .tcp(let address, let port):
      // SO_REUSEPORT would let a second daemon of the same user share the port in silence.
      if port != 0 { close(try bind(address, port, sharing: false)) }
      let descriptor = try bind(address, port, sharing: true)
      try startListening(descriptor)
      return (descriptor, .tcp(address, port: Endpoint.port(of: descriptor) ?? port))
    case .unix(let path): return (try listen(path: path, access), self)
    }
  }

  /// Opens another socket beside one that listens here, for another loop.
  ///
  /// - Parameter first: the descriptor that ``listen()`` gave.
  /// - Returns: for TCP a socket that shares the port, so that the kernel spreads the connections; else a duplicate.
  /// - Throws: ``ServerError`` with the address and the system's error.
  func join(_ first: Int32) throws(ServerError) -> Int32 {
    guard case .tcp(let address, let port) = self else { return fcntl(first, F_DUPFD_CLOEXEC, 0) }
    let descriptor = try bind(address, port, sharing: true)
    try startListening(descriptor)
    return descriptor
  }

  private func startListening(_ descriptor: Int32) throws(ServerError) {
    try check(Glibc.listen(descriptor, 4096), descriptor)
  }

  private func bind(
    _ address: IPAddress, _ port: UInt16, sharing: Bool
  ) throws(ServerError) -> Int32 {
    var storage = sockaddr_storage()
    let family = Endpoint.fill(&storage, with: address, port)
    let descriptor = try open(family: family)
    var on: Int32 = 1
    let size = socklen_t(MemoryLayout<Int32>.size)
    unsafe setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, size)
    if sharing { unsafe setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &on, size) }
    // Accepted sockets inherit both, which saves system calls for each.
    unsafe setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, size)
    // Without it the kernel takes megabytes for every reader that doesn't read.
    var lowWater: Int32 = 128 << 10
    unsafe setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, &lowWater, size)
    if family == AF_INET6 {
      unsafe setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &on, size)
    }
    try bind(descriptor, to: &storage)
    return descriptor
  }

  private func bind<Address>(_ descriptor: Int32, to address: inout Address) throws(ServerError) {
    let length = socklen_t(MemoryLayout<Address>.size)
    let result = unsafe withSocketAddress(&address, as: sockaddr.self) {
      unsafe Glibc.bind(descriptor, $0, length)
    }
    try check(result, descriptor)
  }

  /// Closes a socket if a system call has failed on it.
  private func check(_ result: Int32, _ descriptor: Int32) throws(ServerError) {
    guard result != 0 else { return }
    let code = errno
    close(descriptor)
    throw .cannotListen(self, code)
  }

  private static func fill(
    _ storage: inout sockaddr_storage, with address: IPAddress, _ port: UInt16
  ) -> Int32 {
    if address.isVersion4 {
      _ = unsafe withSocketAddress(&storage, as: sockaddr_in.self) {
        unsafe uv_ip4_addr("\(address)", Int32(port), $0)
      }
    } else {
      _ = unsafe withSocketAddress(&storage, as: sockaddr_in6.self) {
        unsafe uv_ip6_addr("\(address)", Int32(port), $0)
      }
    }
    return Int32(storage.ss_family)
  }

  /// Listens on a path. A socket file that a crash has left is removed; one that is in use is not.
  private func listen(path: String, _ access: SocketAccess) throws(ServerError) -> Int32 {
    var address = try self.address(of: path)
    try check(address)
    try removeStaleSocket(path)
    let descriptor = try open(family: AF_UNIX)
    try bind(descriptor, to: &address)
    do throws(ServerError) {
      // Before anybody can connect.
      if let group = access.group {
        try check(unsafe chown(path, uid_t.max, group), descriptor)
      }
      try check(unsafe chmod(path, access.mode), descriptor)
      try startListening(descriptor)
    } catch {
      unsafe unlink(path)
      throw error
    }
    return descriptor
  }

  /// Finds what ``listen(socket:)`` would refuse at a path, and changes nothing.
  func check(path: String, _ access: SocketAccess) throws(ServerError) {
    try check(try address(of: path))
    var status = stat()
    if unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT != S_IFSOCK {
      throw .cannotListen(self, EEXIST)
    }
    guard let group = access.group, geteuid() != 0, group != getegid() else { return }
    var groups = [gid_t](repeating: 0, count: Int(max(0, getgroups(0, nil))))
    guard unsafe getgroups(Int32(groups.count), &groups) >= 0, groups.contains(group) else {
      throw .cannotListen(self, EPERM)
    }
  }

  private func address(of path: String) throws(ServerError) -> sockaddr_un {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let fits = unsafe withUnsafeMutableBytes(of: &address.sun_path) { room in
      let bytes = Array(path.utf8)
      guard bytes.count < room.count, !bytes.contains(0) else { return false }
      unsafe room.copyBytes(from: bytes)
      return true
    }
    guard fits else { throw .cannotListen(self, ENAMETOOLONG) }
    return address
  }

  /// Finds out whether anybody listens at a path.
  private func check(_ address: sockaddr_un) throws(ServerError) {
    var address = address
    let length = socklen_t(MemoryLayout<sockaddr_un>.size)
    let probe = try open(family: AF_UNIX)
    let isInUse = unsafe withSocketAddress(&address, as: sockaddr.self) {
      unsafe connect(probe, $0, length) == 0 || errno == EAGAIN
    }
    close(probe)
    guard !isInUse else { throw .cannotListen(self, EADDRINUSE) }
  }

  private func removeStaleSocket(_ path: String) throws(ServerError) {
    var status = stat()
    guard unsafe lstat(path, &status) == 0 else { return }
    guard status.st_mode & S_IFMT == S_IFSOCK else { throw .cannotListen(self, EEXIST) }
    unsafe unlink(path)
  }

  private func open(family: Int32) throws(ServerError) -> Int32 {
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    let descriptor = socket(family, kind, 0)
    guard descriptor >= 0 else { throw .cannotListen(self, errno) }
    return descriptor
  }

  private static func port(of descriptor: Int32) -> UInt16? {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let done = unsafe withSocketAddress(&storage, as: sockaddr.self) {
      unsafe getsockname(descriptor, $0, &length)
    }
    guard done == 0 else { return nil }
    // The port stands at the same place for IPv4 and IPv6.
    return unsafe withUnsafeBytes(of: storage) { unsafe UInt16($0[2]) << 8 | UInt16($0[3]) }
  }

  /// The address of a peer as text without port; empty for a Unix socket.
  static func text(of storage: inout sockaddr_storage) -> String {
    guard Int32(storage.ss_family) == AF_INET || Int32(storage.ss_family) == AF_INET6 else {
      return ""
    }
    return unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { room in
      unsafe withSocketAddress(&storage, as: sockaddr.self) { address in
        guard let start = room.baseAddress, unsafe uv_ip_name(address, start, room.count) == 0
        else { return "" }
        return unsafe String(cString: start)
      }
    }
  }
}
