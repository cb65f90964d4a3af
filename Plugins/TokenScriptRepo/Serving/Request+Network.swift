internal import Addresses
internal import HTTPProtocol

extension Request {
  /// The network that the request is charged to, or nil for one without an address.
  var network: ClientNetwork? { IPAddress(origin.peer).map(ClientNetwork.init(of:)) }
}
