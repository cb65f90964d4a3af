public import Cryptography
internal import Formats

extension PDU {
  /// A message, which a device sends to have it passed on, and the service to its reader (RFC
  /// "message").
  ///
  /// `version type time(u64) recipientPubEncrKey[32] toPubEncrKey[32] fromPubEncrKey[32]`, and data.
  public struct Message: PDUBody {
    /// The type's number, the second byte of the header.
    public static let type: UInt8 = 5

    /// The sender's time, in seconds since 1970, UTC.
    public let time: UInt64
    /// The user who gets it, or the forum that passes it on: it is routed by this.
    public let recipient: EncryptionPublicKey
    /// The recipient, or the forum through which it comes.
    public let to: EncryptionPublicKey
    /// The user who made it.
    public let from: EncryptionPublicKey

    /// Makes the PDU.
    public init(
      time: UInt64, recipient: EncryptionPublicKey, to: EncryptionPublicKey,
      from: EncryptionPublicKey
    ) {
      (self.time, self.recipient, self.to, self.from) = (time, recipient, to, from)
    }

    init(from reader: inout ByteReader) throws(WireError) {
      (time, recipient, to, from) = try reader.fields()
    }

    func write(to writer: inout ByteWriter) { writer.write(fields: time, recipient, to, from) }

    /// The bytes of the recipient in a header.
    private static let recipientField = 10..<42

    /// Makes a message's header for another recipient.
    ///
    /// - Parameters:
    ///   - header: the header, as ``PDU/encoded()`` gives it; bytes too short for one stay as they are.
    ///   - recipient: the other recipient.
    public static func header(_ header: [UInt8], for recipient: EncryptionPublicKey) -> [UInt8] {
      guard header.count >= recipientField.upperBound else { return header }
      var header = header
      header.replaceSubrange(recipientField, with: recipient.bytes)
      return header
    }

    /// Returns whether two messages' headers are the same, or would be with the same recipient.
    public static func isSame(_ header: [UInt8], _ other: [UInt8]) -> Bool {
      guard header.count == other.count, header.count >= recipientField.upperBound else {
        return header == other
      }
      return header[..<recipientField.lowerBound] == other[..<recipientField.lowerBound]
        && header[recipientField.upperBound...] == other[recipientField.upperBound...]
    }
  }

  /// Deletes a message's content; the service sends it to tell that this was done (RFC "truncate").
  ///
  /// `version type messageID[64]`
  public struct Truncate: PDUBody {
    /// The type's number, the second byte of the header.
    public static let type: UInt8 = 6

    /// The message.
    public let message: MessageID

    /// Makes the PDU.
    public init(message: MessageID) { self.message = message }

    init(from reader: inout ByteReader) throws(WireError) { message = try reader.fields() }

    func write(to writer: inout ByteWriter) { writer.write(fields: message) }
  }
}
