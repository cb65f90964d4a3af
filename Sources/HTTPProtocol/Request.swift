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
  ///
  /// - Parameters:
  ///   - head: the request line and the header fields.
  ///   - body: the body, chunks joined.
  ///   - origin: the origin of the request.
  package init(head: RequestHead, body: [UInt8] = [], origin: RequestOrigin) {
    (self.head, self.body, self.origin) = (head, body, origin)
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
  ///   - id: the request's number.
  package init(peer: String, isSecure: Bool = false, id: UInt64 = 0) {
    let client = IPAddress(peer).map(ClientNetwork.init(of:))
    self.init(peer: peer, client: client, isSecure: isSecure, id: id)
  }

  /// An origin whose network is known already.
  ///
  /// - Parameters:
  ///   - peer: the client's address as text, without port.
  ///   - client: the network of the address.
  ///   - isSecure: whether the connection is TLS.
  ///   - id: the request's number.
  package init(peer: String, client: ClientNetwork?, isSecure: Bool, id: UInt64) {
    (self.peer, self.client, self.isSecure, self.id) = (peer, client, isSecure, id)
  }
}
