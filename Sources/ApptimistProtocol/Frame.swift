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
      (self.header, self.data) = (header, data)
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
  /// - Parameters:
  ///   - message: a whole binary WebSocket message.
  ///   - limits: the limits of the parts' sizes.
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
