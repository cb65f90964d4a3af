public import Cryptography
internal import Wire

extension PDU {
  /// A message: from a device to be passed on, or from the service to its reader (RFC "message").
  ///
  /// `version type time(u64) recipientPubEncrKey[32] toPubEncrKey[32] fromPubEncrKey[32]`, and data.
  public struct Message: PDUBody {
    /// The type's number, the second byte of the header.
    public static let type: UInt8 = 5

    /// When it was made, as its maker says: seconds since 1970, UTC.
    public let time: UInt64
    /// Who gets it: it is routed by this.
    public let recipient: EncryptionPublicKey
    /// Who it is for: the recipient, or a forum.
    public let to: EncryptionPublicKey
    /// Who made it.
    public let from: EncryptionPublicKey

    /// The PDU with its fields.
    public init(
      time: UInt64, recipient: EncryptionPublicKey, to: EncryptionPublicKey,
      from: EncryptionPublicKey
    ) {
      self.time = time
      self.recipient = recipient
      self.to = to
      self.from = from
    }

    init(from reader: inout ByteReader) throws(WireError) {
      time = try reader.read(UInt64.self)
      recipient = try reader.read(EncryptionPublicKey.self)
      to = try reader.read(EncryptionPublicKey.self)
      from = try reader.read(EncryptionPublicKey.self)
    }

    func write(to writer: inout ByteWriter) {
      writer.write(time)
      writer.write(recipient)
      writer.write(to)
      writer.write(from)
    }

    /// Where the recipient is in a header.
    private static let recipientField = 10..<42

    /// A message's header for another recipient.
    ///
    /// - Parameters:
    ///   - header: as ``PDU/encoded()`` gives it; what is too short for one stays as it is.
    ///   - recipient: who gets it.
    public static func header(
      _ header: [UInt8], for recipient: EncryptionPublicKey
    ) -> [UInt8] {
      guard header.count >= recipientField.upperBound else { return header }
      var header = header
      header.replaceSubrange(recipientField, with: recipient.bytes)
      return header
    }

    /// Whether two messages' headers are the same, or would be with the same recipient.
    public static func isSame(_ header: [UInt8], _ other: [UInt8]) -> Bool {
      guard header.count == other.count, header.count >= recipientField.upperBound else {
        return header == other
      }
      return header[..<recipientField.lowerBound] == other[..<recipientField.lowerBound]
        && header[recipientField.upperBound...] == other[recipientField.upperBound...]
    }
  }

  /// From a device: delete a message's content; from the service: it was deleted (RFC
  /// "truncate").
  ///
  /// `version type messageID[64]`
  public struct Truncate: PDUBody {
    /// The type's number, the second byte of the header.
    public static let type: UInt8 = 6

    /// Which message.
    public let message: MessageID

    /// The PDU with its fields.
    public init(message: MessageID) {
      self.message = message
    }

    init(from reader: inout ByteReader) throws(WireError) {
      message = try reader.read(MessageID.self)
    }

    func write(to writer: inout ByteWriter) {
      writer.write(message)
    }
  }
}
