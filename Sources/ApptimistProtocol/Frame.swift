public import Cryptography

internal import Formats

/// One WebSocket message in its two parts: `headerLen(u32) dataLen(u32) eHeader eData` (RFC "PDU").
public struct Frame: Sendable {
  /// The limits of the parts' sizes.
  public struct Limits: Hashable, Sendable {
    /// The longest header in clear, in bytes; its box is 16 bytes longer.
    public var header: Int
    /// The longest data in clear, in bytes; its box is 16 bytes longer.
    public var data: Int

    /// Makes limits; the defaults are those that a service has for what devices send.
    public init(header: Int = 4 << 10, data: Int = 1 << 20) {
      self.header = header
      self.data = data
    }

    /// The longest message that keeps to the limits, in bytes.
    public var message: Int { Frame.lengthsLength + header + data + 2 * 16 }
  }

  /// The bytes that the two lengths take.
  static let lengthsLength = 8

  /// The header's box.
  public let eHeader: ArraySlice<UInt8>
  /// The data, boxed for somebody else, of any content; empty if there is none.
  public let eData: ArraySlice<UInt8>

  /// Finds the parts of a message, without copying them.
  ///
  /// - Throws: `.lengthsDontAddUp` (close 1002), else `.overLimit` (close 1009).
  public init(_ message: [UInt8], limits: Limits) throws(FrameError) {
    (eHeader, eData) = try Self.parts(of: message)
    guard eHeader.count <= limits.header + 16, eData.count <= limits.data + 16 else {
      throw .overLimit
    }
  }

  /// Returns the two parts that stand behind their lengths.
  static func parts(
    of message: [UInt8]
  ) throws(FrameError) -> (header: ArraySlice<UInt8>, data: ArraySlice<UInt8>) {
    do throws(WireError) {
      var reader = ByteReader(message)
      let headerLength = Int(try reader.read(UInt32.self))
      let dataLength = Int(try reader.read(UInt32.self))
      let parts = (try reader.read(count: headerLength), try reader.read(count: dataLength))
      try reader.finish()
      return parts
    } catch { throw .lengthsDontAddUp }
  }
}

/// The reason for which a WebSocket message is no frame.
public enum FrameError: Error, Hashable, Sendable {
  /// The two lengths, and the parts that they promise, are not exactly the message.
  case lengthsDontAddUp
  /// A part is larger than its limit.
  case overLimit
}

/// The boxes around the headers of one connection, in both directions (page "Keys and nonces").
///
/// Both sides use it in the same way: with the ephemeral pair and the service's key, or the other way
/// round. It cannot be copied, because two copies would use one nonce twice.
public struct HeaderChannel: ~Copyable {
  /// A counter above this in either direction wears the channel out.
  public static let lastCounter: UInt16 = 65_000

  private let key: BoxKey
  private let dataNonce: BoxNonce
  private var outgoing: Counter
  private var incoming: Counter

  /// The sequence numbers of one direction: every second one, and never the same again.
  private struct Counter {
    /// The next number, or nil after the last.
    var next: UInt16?

    var isPastLast: Bool { next.map { $0 > HeaderChannel.lastCounter + 2 } ?? true }

    mutating func advance() { next = next.flatMap { $0 <= .max - 2 ? $0 + 2 : nil } }
  }

  /// Makes the channel of a new connection.
  ///
  /// - Parameters:
  ///   - peer: the public key of the other side. The side whose key is smaller sends 1, 3, 5, …
  ///   - dataNonce: ``ServiceIdentity/dataNonce``; its first 22 bytes begin every header's nonce.
  /// - Returns: nil if the peer's key is of low order, or the own one.
  public init?(own: EncryptionKeyPair, peer: EncryptionPublicKey, dataNonce: BoxNonce) {
    guard peer != own.publicKey, let key = BoxKey(own: own, peer: peer) else { return nil }
    self.key = key
    self.dataNonce = dataNonce
    outgoing = Counter(next: own.publicKey < peer ? 1 : 2)
    incoming = Counter(next: own.publicKey < peer ? 2 : 1)
  }

  /// True if a counter above ``lastCounter`` was used in either direction; then the service sends
  /// `redirect`, and nothing more.
  public var isWornOut: Bool { outgoing.isPastLast || incoming.isPastLast }

  /// Makes the WebSocket message of a PDU that will be sent.
  ///
  /// - Parameter data: `eData`, which is boxed already; it is copied once.
  /// - Throws: `.exhausted` when every counter of this direction was used.
  public mutating func seal(
    _ pdu: PDU, data: ArraySlice<UInt8> = []
  ) throws(HeaderChannelError) -> [UInt8] {
    try seal(data: data, headerCapacity: 128) { pdu.write(to: &$0) }
  }

  /// Makes the WebSocket message of a PDU that will be sent, from its header in clear.
  ///
  /// - Parameters:
  ///   - header: the header in clear, as ``PDU/encoded()`` gives it.
  ///   - data: `eData`, which is boxed already; it is copied once.
  /// - Throws: `.exhausted` when every counter of this direction was used.
  public mutating func seal(
    header: [UInt8], data: ArraySlice<UInt8> = []
  ) throws(HeaderChannelError) -> [UInt8] {
    try seal(data: data, headerCapacity: header.count) { $0.write(header) }
  }

  /// Writes the header where its box will be, and boxes it there.
  private mutating func seal(
    data: ArraySlice<UInt8>, headerCapacity: Int, header write: (inout ByteWriter) -> Void
  ) throws(HeaderChannelError) -> [UInt8] {
    guard let counter = outgoing.next else { throw .exhausted }
    let start = Frame.lengthsLength
    var writer = ByteWriter(capacity: start + BoxKey.tagLength + headerCapacity + data.count)
    // The lengths, of which the first isn't known yet, and room for the tag.
    writer.write(UInt64(data.count))
    writer.write(UInt64(0))
    writer.write(UInt64(0))
    write(&writer)
    let end = writer.bytes.count
    writer.write(data)
    writer.overwrite(UInt32(end - start), at: 0)
    key.seal(start..<end, of: &writer.bytes, nonce: dataNonce.ending(in: counter))
    outgoing.advance()
    return writer.bytes
  }

  /// Opens the header of a frame that came: it has to be exactly the next one.
  ///
  /// - Returns: the header in clear.
  /// - Throws: `.doesNotOpen`; `.exhausted` when every counter of this direction was used.
  public mutating func open(_ frame: Frame) throws(HeaderChannelError) -> [UInt8] {
    guard let counter = incoming.next else { throw .exhausted }
    guard let header = key.open(frame.eHeader, nonce: dataNonce.ending(in: counter)) else {
      throw .doesNotOpen
    }
    incoming.advance()
    return header
  }
}

/// The reason for which a header cannot be sent or is not accepted.
public enum HeaderChannelError: Error, Hashable, Sendable {
  /// Every counter of the direction was used: a nonce would repeat.
  case exhausted
  /// The peer has not boxed it for this connection with the next counter, or it was changed.
  case doesNotOpen
}
