internal import ApptimistProtocol
internal import Cryptography
internal import HTTPProtocol

/// One WebSocket to the service, and the boxes around its headers.
final class DeviceConnection {
  /// A PDU from the service.
  struct Received {
    let pdu: PDU
    /// The header in clear.
    let header: [UInt8]
    /// The data, boxed.
    let data: ArraySlice<UInt8>
  }

  /// A frame violates the protocol, so that the connection can't go on.
  struct Violation: Error {}

  private let socket: WebSocket
  private var channel: HeaderChannel
  private let limits: Frame.Limits

  private init(_ socket: WebSocket, _ channel: consuming HeaderChannel, _ limits: Frame.Limits) {
    self.socket = socket
    self.channel = channel
    self.limits = limits
  }

  /// The longest header that a service sends: 32,000 vouchers.
  static let headerLimit = 38 + 32_000 * EncryptionPublicKey.byteCount

  /// Connects with a fresh ephemeral key.
  ///
  /// - Parameters:
  ///   - url: the service's address; its query is replaced.
  ///   - service: the service whose headers are taken.
  ///   - client: makes the WebSocket.
  ///   - limits: the most bytes of a header and of data.
  /// - Throws: ``WebSocketError``.
  static nonisolated(nonsending) func open(
    _ url: WebSocketURL, _ service: ServiceIdentity, _ client: WebSocketClient,
    _ limits: Frame.Limits
  ) async throws(WebSocketError) -> DeviceConnection {
    let ephemeral = EncryptionKeyPair.generate(for: .session)
    var url = url
    url.query = ephemeral.publicKey.hex
    let socket = try await client.connect(to: url)
    let channel = HeaderChannel(
      own: ephemeral, peer: service.encryptionKey, dataNonce: service.dataNonce)
    // An identity has no key of low order.
    guard let channel else { throw .closed }
    return DeviceConnection(socket, channel, limits)
  }

  /// Sends a PDU behind all others, without waiting.
  ///
  /// - Throws: an error if the connection is over, or its counters are used up.
  func send(_ pdu: PDU, data: [UInt8]) throws {
    try socket.enqueue(.binary(try channel.seal(pdu, data: data[...])))
  }

  /// Waits for the next PDU, and skips those of unknown types.
  ///
  /// - Returns: the PDU, or nil once the service has closed.
  /// - Throws: ``WebSocketError``, ``Violation``.
  nonisolated(nonsending) func receive() async throws -> Received? {
    while let message = try await socket.next() {
      guard case .binary(let bytes) = message, let frame = try? Frame(bytes, limits: limits),
        let header = try? channel.open(frame)
      else { throw Violation() }
      do throws(PDUError) {
        return Received(pdu: try PDU(decoding: header), header: header, data: frame.eData)
      } catch {
        guard case .unknownType = error else { throw Violation() }
      }
    }
    return nil
  }

  func close(_ code: UInt16) { socket.close(code) }

  /// The service's close code, or nil if the service hasn't closed.
  var closeCode: UInt16? {
    if case .closed(let code, _) = socket.end { code } else { nil }
  }
}
