internal import Formats
internal import CCurl
internal import Glibc

/// Sockets that connect to the public Internet only.
enum PublicSocket {
  /// Makes a socket for an address that libcurl is about to connect to.
  ///
  /// - Returns: the socket, or nil if the address isn't another host's on the public Internet.
  static func open(to target: UnsafePointer<curl_sockaddr>?) -> curl_socket_t? {
    guard let target = unsafe target, let raw = unsafe ccurl_address(target),
      let address = unsafe IPAddress(
        family: target.pointee.family, socketAddress: raw, length: Int(target.pointee.addrlen)),
      address.isPublic, !isOwn(address)
    else { return nil }
    return unsafe socket(
      target.pointee.family, target.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue),
      target.pointee.protocol)
  }

  /// Returns whether the address is one of this machine's, behind which services may listen that aren't meant for
  /// others.
  private static func isOwn(_ address: IPAddress) -> Bool {
    var list: UnsafeMutablePointer<ifaddrs>?
    // Without the list no address is known to be public.
    guard unsafe getifaddrs(&list) == 0 else { return true }
    defer { unsafe freeifaddrs(list) }
    var next = unsafe list
    while let entry = unsafe next {
      if let own = unsafe entry.pointee.ifa_addr {
        let family = unsafe CInt(own.pointee.sa_family)
        let length =
          family == AF_INET6 ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size
        if unsafe IPAddress(family: family, socketAddress: own, length: length) == address {
          return true
        }
      }
      unsafe next = unsafe entry.pointee.ifa_next
    }
    return false
  }
}

extension IPAddress {
  /// Reads a socket address, or returns nil if it is of another family or cut.
  fileprivate init?(family: CInt, socketAddress: UnsafeRawPointer, length: Int) {
    let place: (offset: Int, count: Int)
    switch family {
    case AF_INET: place = (4, 4)
    case AF_INET6: place = (8, 16)
    default: return nil
    }
    guard length >= place.offset + place.count else { return nil }
    let bytes = unsafe UnsafeRawBufferPointer(
      start: socketAddress + place.offset, count: place.count)
    self.init(bytes: unsafe Array(bytes))
  }
}
