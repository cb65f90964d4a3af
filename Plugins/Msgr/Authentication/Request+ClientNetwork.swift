internal import Addresses
internal import HTTPProtocol

extension Request {
  /// The network of the client, which limits count by; nil for a Unix socket of this machine.
  var clientNetwork: ClientNetwork? { IPAddress(origin.peer).map(ClientNetwork.init(of:)) }
}
