internal import ApptimistProtocol

/// The boxes of one connection, in one version of the protocol.
protocol DeviceWire: AnyObject {
  /// Makes the WebSocket message of a PDU of the wire's version.
  ///
  /// - Throws: an error if the counters are used up.
  func seal(_ pdu: OutgoingPDU) throws -> [UInt8]

  /// Opens a WebSocket message.
  ///
  /// - Returns: the PDU, or nil for one of an unknown type.
  /// - Throws: ``ProtocolViolation``.
  func open(_ message: [UInt8]) throws -> IncomingPDU?
}

/// A PDU that came from the service.
enum IncomingPDU {
  case version1(PDU, data: ArraySlice<UInt8>)
  /// The first message of version 2.
  case hello(Version2.Handshake, Version2.Hello)
  case version2(Version2.ServicePDU, data: ArraySlice<UInt8>)
}

/// A message violates the protocol, so that the connection can't go on.
enum ProtocolViolation: Error {
  case malformed
  /// The first message is not that of the service whose keys are pinned.
  case otherService
}
