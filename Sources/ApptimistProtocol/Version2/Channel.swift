public import Cryptography
internal import Formats

extension Version2 {
  /// The boxes of one connection, in both directions: each has a key and a counter of its own.
  ///
  /// It cannot be copied, because two copies would use one nonce twice.
  public struct Channel: ~Copyable {
    private let sending: BoxKey
    private let receiving: BoxKey
    private var sent: UInt64
    private var received: UInt64

    /// Makes the channel of a connection.
    ///
    /// - Parameters:
    ///   - sent: the number of the next message to send; 0 but in tests.
    ///   - received: the number of the next message to receive; 0 but in tests.
    public init(sending: BoxKey, receiving: BoxKey, sent: UInt64 = 0, received: UInt64 = 0) {
      self.sending = sending
      self.receiving = receiving
      self.sent = sent
      self.received = received
    }

    /// Makes the WebSocket message of a PDU that will be sent.
    ///
    /// - Parameter data: the data; it is copied once.
    public mutating func seal(_ pdu: DevicePDU, data: [UInt8] = []) -> [UInt8] {
      seal(data: data) { pdu.write(to: &$0) }
    }

    /// Makes the WebSocket message of a PDU that will be sent.
    ///
    /// - Parameters:
    ///   - pdu: the header. Before the box of ``ServicePDU/hello(_:)`` the service's ephemeral key goes.
    ///   - data: the data; it is copied once.
    public mutating func seal(
      _ pdu: ServicePDU, data: [UInt8] = [], behind ephemeralKey: EncryptionPublicKey? = nil
    ) -> [UInt8] { seal(data: data, prefix: ephemeralKey?.bytes ?? []) { pdu.write(to: &$0) } }

    /// Makes the WebSocket message of a message of the stream, from its header of version 1.
    ///
    /// - Parameters:
    ///   - header: the header, as ``PDU/encoded()`` gives it.
    ///   - data: the data; it is copied once.
    public mutating func seal(version1 header: [UInt8], at position: UInt64, data: [UInt8])
      -> [UInt8]
    {
      seal(data: data) { writer in
        writer.writeHeaderStart(PDU.Message.type, request: 0)
        writer.write(position)
        writer.write(header.dropFirst(2))
      }
    }

    /// Makes the WebSocket message of a header in clear, which may also be a malformed one.
    public mutating func seal(header: [UInt8], data: [UInt8] = []) -> [UInt8] {
      seal(data: data) { $0.write(header) }
    }

    /// Writes the frame where its box will be, and boxes it there.
    private mutating func seal(
      data: [UInt8], prefix: [UInt8] = [], header write: (inout ByteWriter) -> Void
    ) -> [UInt8] {
      let lengths = prefix.count + BoxKey.tagLength
      var writer = ByteWriter(capacity: lengths + 8 + 128 + data.count)
      writer.write(prefix)
      // Room for the tag, and the lengths, of which the first isn't known yet.
      writer.write(UInt64(0))
      writer.write(UInt64(0))
      writer.write(UInt64(data.count))
      write(&writer)
      writer.overwrite(UInt32(writer.bytes.count - lengths - 8), at: lengths)
      writer.write(data)
      sending.seal(
        prefix.count..<writer.bytes.count, of: &writer.bytes, nonce: BoxNonce(counter: sent))
      sent += 1
      return writer.bytes
    }

    /// Opens a message that came: it has to be exactly the next one.
    ///
    /// - Returns: the frame, or nil if it does not open.
    public mutating func open(_ message: ArraySlice<UInt8>) -> [UInt8]? {
      guard let frame = receiving.open(message, nonce: BoxNonce(counter: received)) else {
        return nil
      }
      received += 1
      return frame
    }
  }
}

extension Frame.Limits {
  /// The longest message of version 2 that keeps to the limits, in bytes.
  public var version2Message: Int { Frame.lengthsLength + header + data + BoxKey.tagLength }
}

extension Version2 {
  /// The content of a box: `headerLen(u32) dataLen(u32) header data`.
  public struct ClearFrame: Sendable {
    /// The header.
    public let header: ArraySlice<UInt8>
    /// The data; empty if there is none.
    public let data: ArraySlice<UInt8>

    /// Finds the parts of a frame, without copying them.
    ///
    /// - Parameters:
    ///   - frame: what ``Channel/open(_:)`` gave.
    ///   - limits: the limits of the parts' sizes, or nil for what a service sends.
    /// - Throws: `.lengthsDontAddUp` (close 1002), else `.overLimit` (close 1009).
    public init(_ frame: [UInt8], limits: Frame.Limits?) throws(FrameError) {
      (header, data) = try Frame.parts(of: frame)
      guard let limits else { return }
      guard header.count <= limits.header, data.count <= limits.data else { throw .overLimit }
    }
  }
}
