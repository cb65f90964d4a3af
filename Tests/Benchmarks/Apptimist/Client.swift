internal import Glibc

/// A connection to a server on this machine. Subclasses give its bytes a meaning.
class Client {
  let descriptor: Int32
  /// The loop that runs it, set when the loop takes it.
  unowned(unsafe) var loop: LoadLoop?
  var awaitsFlush = false
  /// Is called with the data of each message that arrives.
  var arrived: (ArraySlice<UInt8>) -> Void = { _ in }
  /// Whether messages may be sent.
  var isReady = false
  /// Bytes that a subclass has appended and that wait to be written.
  var outgoing: [UInt8] = []

  /// Connects to a port.
  ///
  /// - Parameters:
  ///   - port: the server's TCP port on this machine.
  ///   - receiveBuffer: the kernel's receive buffer in bytes, or 0 for its default.
  init(port: UInt16, receiveBuffer: Int32 = 0) throws(LoadError) {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var on: Int32 = 1
    setsockopt(
      descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
    if receiveBuffer > 0 {
      var size = receiveBuffer
      setsockopt(
        descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    let connected = withUnsafePointer(to: &address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard connected == 0 else { throw LoadError("port \(port) refuses: errno \(errno)") }
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
  }

  /// Handles received bytes.
  func received(_ bytes: ArraySlice<UInt8>) throws(LoadError) {}

  /// Sends a message with this data to the client's recipient.
  func send(_ data: [UInt8]) {}

  /// Schedules ``outgoing`` to be written at the end of this turn.
  func wasAppended() { loop?.needsFlush(self) }

  /// Reads all that the kernel holds.
  func read(into buffer: inout [UInt8]) throws(LoadError) {
    while true {
      let count = Glibc.read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EAGAIN { return }
      guard count > 0 else { throw LoadError("the server has closed a connection of \(self)") }
      try received(buffer[..<count])
      if count < buffer.count { return }
    }
  }

  func flush() {
    awaitsFlush = false
    guard !outgoing.isEmpty else { return }
    let count = Glibc.write(descriptor, outgoing, outgoing.count)
    guard count < outgoing.count else { return outgoing.removeAll(keepingCapacity: true) }
    outgoing.removeFirst(max(0, count))
    loop?.needsFlush(self)
  }
}
