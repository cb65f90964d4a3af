internal import ApptimistProtocol
internal import Cryptography
internal import HTTPClient
internal import HTTPProtocol

/// One WebSocket to the service, and the boxes of the version that is spoken on it.
final class DeviceConnection {
  /// The service doesn't speak a version that the pin allows.
  struct OtherVersion: Error {}

  /// The version that is spoken.
  let version: UInt8
  private let socket: WebSocket
  private let wire: any DeviceWire

  private init(_ socket: WebSocket, _ wire: any DeviceWire, version: UInt8) {
    self.socket = socket
    self.wire = wire
    self.version = version
  }

  /// Connects with a fresh ephemeral key.
  ///
  /// - Parameters:
  ///   - url: the service's address; its query is replaced.
  ///   - pin: the service, and the versions that may be spoken.
  ///   - client: makes the WebSocket.
  ///   - dataLimit: the most bytes of data that are accepted in version 1.
  /// - Throws: ``WebSocketError``, ``OtherVersion``.
  static nonisolated(nonsending) func open(
    _ url: WebSocketURL, _ pin: ServicePin, _ client: WebSocketClient, dataLimit: Int
  ) async throws -> DeviceConnection {
    let ephemeral = EncryptionKeyPair.generate(for: .session)
    var url = url
    url.query = ephemeral.publicKey.hex
    let socket = try await client.connect(
      to: url, subprotocols: pin.versions == .version1 ? [] : [Version2.subprotocol])
    if socket.subprotocol != nil {
      return DeviceConnection(
        socket, Version2Wire(ephemeral, pin.identity), version: Version2.number)
    }
    guard pin.versions != .version2 else {
      socket.close()
      throw OtherVersion()
    }
    // An identity has no key of low order.
    guard let wire = Version1Wire(ephemeral, pin.identity, dataLimit: dataLimit) else {
      throw WebSocketError.closed
    }
    return DeviceConnection(socket, wire, version: PDU.version)
  }

  /// Sends a PDU behind all others, without waiting.
  ///
  /// - Throws: an error if the connection is over, or its counters are used up.
  func send(_ pdu: OutgoingPDU) throws { try socket.enqueue(.binary(try wire.seal(pdu))) }

  /// Waits for the next PDU, and skips those of unknown types.
  ///
  /// - Returns: the PDU, or nil once the service has closed.
  /// - Throws: ``WebSocketError``, ``ProtocolViolation``.
  nonisolated(nonsending) func receive() async throws -> IncomingPDU? {
    while let message = try await socket.next() {
      guard case .binary(let bytes) = message else { throw ProtocolViolation.malformed }
      if let pdu = try wire.open(bytes) { return pdu }
    }
    return nil
  }

  func close(_ code: UInt16) { socket.close(code) }

  /// The service's close code, or nil if the service hasn't closed.
  var closeCode: UInt16? { if case .closed(let code, _) = socket.end { code } else { nil } }
}

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

/// A PDU that a device sends, with its data.
enum OutgoingPDU: Equatable {
  /// One of version 1, whose data is boxed already.
  case version1(PDU, data: [UInt8] = [])
  case version2(Version2.DevicePDU, data: [UInt8] = [])
}
