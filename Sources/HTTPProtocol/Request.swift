package import Formats

/// A whole request: its head, its body, and where it came from.
package struct Request: Sendable {
  /// The request line and the header fields.
  package let head: RequestHead
  /// The body, all of it; empty without one.
  package var body: [UInt8]
  /// The origin of the request.
  package let origin: RequestOrigin

  /// A request.
  package init(head: RequestHead, body: [UInt8] = [], origin: RequestOrigin) {
    self.head = head
    self.body = body
    self.origin = origin
  }
}

/// The origin of a request, and the number that the logs know it by.
package struct RequestOrigin: Sendable {
  /// The client's address without port, as trusted proxies tell it; empty for a Unix socket.
  package let peer: String
  /// The network that limits count the request by; nil for a Unix socket without a proxy.
  package let client: ClientNetwork?
  /// True if the connection is TLS.
  package let isSecure: Bool
  /// A number that no other request of this process has.
  package let id: UInt64

  /// An origin.
  ///
  /// - Parameters:
  ///   - peer: the client's address as text, without port.
  ///   - isSecure: whether the connection is TLS.
  package init(peer: String, isSecure: Bool = false, id: UInt64 = 0) {
    let client = IPAddress(peer).map(ClientNetwork.init(of:))
    self.init(peer: peer, client: client, isSecure: isSecure, id: id)
  }

  /// An origin whose network is known already.
  ///
  /// - Parameters:
  ///   - peer: the client's address as text, without port.
  ///   - isSecure: whether the connection is TLS.
  package init(peer: String, client: ClientNetwork?, isSecure: Bool, id: UInt64) {
    self.peer = peer
    self.client = client
    self.isSecure = isSecure
    self.id = id
  }
}

/// A request method, as RFC 9110 section 9 and RFC 5789 name them.
public enum Method: Hashable, Sendable {
  /// Asks for the resource.
  case get
  /// `GET` without the body of the response.
  case head
  /// Hands content to the resource.
  case post
  /// Replaces the resource.
  case put
  /// Deletes the resource.
  case delete
  /// Asks a proxy for a tunnel.
  case connect
  /// Asks what the resource or the server can do.
  case options
  /// Asks for an echo of the request.
  case trace
  /// Changes a part of the resource.
  case patch
  /// Any other token.
  case other(String)

  /// Reads a method from its token.
  ///
  /// - Parameter token: the bytes before the first space of the request line; methods are case-sensitive.
  public init(_ token: some Collection<UInt8>) {
    let fits = token.count <= 8 && token.first != 0
    self =
      Method(packed: fits ? token.reduce(0) { $0 << 8 | UInt64($1) } : 0)
      ?? .other(String(decoding: token, as: UTF8.self))
  }

  /// Finds a known method by its characters in one number, the first one highest.
  private init?(packed: UInt64) {
    switch packed {
    case 0x47_45_54: self = .get
    case 0x48_45_41_44: self = .head
    case 0x50_4f_53_54: self = .post
    case 0x50_55_54: self = .put
    case 0x44_45_4c_45_54_45: self = .delete
    case 0x43_4f_4e_4e_45_43_54: self = .connect
    case 0x4f_50_54_49_4f_4e_53: self = .options
    case 0x54_52_41_43_45: self = .trace
    case 0x50_41_54_43_48: self = .patch
    default: return nil
    }
  }

  /// The token that stands in a request line and in `Allow`.
  public var name: String {
    switch self {
    case .get: "GET"
    case .head: "HEAD"
    case .post: "POST"
    case .put: "PUT"
    case .delete: "DELETE"
    case .connect: "CONNECT"
    case .options: "OPTIONS"
    case .trace: "TRACE"
    case .patch: "PATCH"
    case .other(let name): name
    }
  }

  /// True if the name is a token (RFC 9110 section 5.6.2), as a method must be.
  public var isToken: Bool { !name.isEmpty && name.utf8.allSatisfy(ByteSet.token.contains) }
}

/// The syntax of `host [":" port]` in `Host` and in absolute targets (RFC 9110 section 7.2).
enum Authority {
  /// Finds the host in an authority.
  ///
  /// An empty host is invalid for http and https (RFC 9110 section 4.2.1), and so is user
  /// information. A port is up to five digits, not above 65535, and may be empty.
  ///
  /// - Returns: the position of the host, brackets included, or nil if the authority is malformed.
  static func host(in bytes: Span<UInt8>, _ range: Range<Int>) -> Range<Int>? {
    guard !range.isEmpty else { return nil }
    var end = range.lowerBound
    if bytes[end] == UInt8(ascii: "[") {
      while end < range.upperBound, bytes[end] != UInt8(ascii: "]") { end += 1 }
      guard end < range.upperBound, isIPv6(bytes, range.lowerBound + 1..<end) else { return nil }
      end += 1
    } else {
      end = bytes.end(of: .hostName, in: range)
      guard end > range.lowerBound else { return nil }
    }
    guard end < range.upperBound else { return range }
    guard bytes[end] == UInt8(ascii: ":"), isPort(bytes, end + 1..<range.upperBound) else {
      return nil
    }
    return range.lowerBound..<end
  }

  private static func isPort(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
    guard range.count <= 5 else { return false }
    var port = 0
    for index in range {
      guard let digit = bytes[index].digitValue else { return false }
      port = port * 10 + Int(digit)
    }
    return port <= 65535
  }

  /// Returns whether a range is an address of IPv6 without a zone (RFC 3986 section 3.2.2).
  private static func isIPv6(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
    // No address is longer; this bounds the work.
    guard range.count <= 45 else { return false }
    let text = String(decoding: range.map { bytes[$0] }, as: UTF8.self)
    return text.contains(":") && IPAddress(text) != nil
  }
}
