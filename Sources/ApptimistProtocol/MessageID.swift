public import Cryptography

/// What a message is known by: SHA-512 over its header in clear and its data as boxed (RFC
/// "message"), 64 bytes. Zero stands for no message.
public struct MessageID: FixedBytes {
  private var digest = SHA512.Digest()

  /// 64 zero bytes.
  public init() {}

  /// The identity of a message.
  ///
  /// - Parameters:
  ///   - header: as ``PDU/encoded()`` gives it and as it came out of its box.
  ///   - data: `eData`, as it is on the wire.
  public init(header: [UInt8], data: ArraySlice<UInt8>) {
    digest = SHA512.hash(header, data)
  }
}
