public import Cryptography

/// The identifier of a message: SHA-512 over its header in clear and its data as it is boxed (RFC
/// "message"), 64 bytes. Zero stands for no message.
public struct MessageID: FixedBytes {
  private var digest = SHA512.Digest()

  /// Makes 64 zero bytes.
  public init() {}

  /// Makes the identifier of a message.
  ///
  /// - Parameters:
  ///   - header: the header, as ``PDU/encoded()`` gives it and as it came out of its box.
  ///   - data: `eData`, as it is on the wire.
  public init(header: [UInt8], data: ArraySlice<UInt8>) { digest = SHA512.hash(header, data) }

  /// Makes the identifier of a message from its fields: over version 1's header, whichever version is spoken.
  public init(of message: PDU.Message, data: ArraySlice<UInt8>) {
    self.init(header: PDU.message(message).encoded(), data: data)
  }
}
