public import Cryptography

extension Version2 {
  /// The first message of a connection: the service's ephemeral key, and the box of `hello`.
  public struct FirstMessage: Sendable {
    /// The service's ephemeral key.
    public let service: EncryptionPublicKey
    /// The box.
    public let box: ArraySlice<UInt8>

    /// Takes a message.
    ///
    /// - Returns: nil if it is shorter than a key.
    public init?(_ message: [UInt8]) {
      guard let key = EncryptionPublicKey(message.prefix(EncryptionPublicKey.byteCount)) else {
        return nil
      }
      service = key
      box = message.dropFirst(EncryptionPublicKey.byteCount)
    }
  }
}
