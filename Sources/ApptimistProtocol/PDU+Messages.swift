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
      self.time = time
      self.recipient = recipient
      self.to = to
      self.from = from
    }

    init(from reader: inout ByteReader) throws(WireError) {
      time = try reader.field()
      recipient = try reader.field()
      to = try reader.field()
      from = try reader.field()
    }

    func write(to writer: inout ByteWriter) { writer.write(fields: time, recipient, to, from) }

    /// The bytes of the recipient in a header.
    private static let recipientField = 10..<42

    /// Makes a message's header for another recipient.
    ///
    /// - Parameter header: the header, as ``PDU/encoded()`` gives it; bytes too short for one stay as they are.
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

    init(from reader: inout ByteReader) throws(WireError) {
      message = try reader.field()
    }

    func write(to writer: inout ByteWriter) { writer.write(fields: message) }
  }
}

extension PDU {
  /// Resumes the service for a user; sent by devices (RFC "login").
  ///
  /// `version type userPubEncrKey[32] signature[64] max(u16) head[64]`
  public struct Login: PDUBody {
    /// The type's number, the second byte of the header.
    public static let type: UInt8 = 1

    /// The user who logs in.
    public let user: EncryptionPublicKey
    /// The user's signature over ``user``.
    public let signature: Signature
    /// The number of messages to look back at most, or zero for all.
    public let max: UInt16
    /// The last message that the device has, or zero if it has none.
    public let head: MessageID

    /// Makes the PDU.
    public init(user: EncryptionPublicKey, signature: Signature, max: UInt16, head: MessageID) {
      self.user = user
      self.signature = signature
      self.max = max
      self.head = head
    }

    init(from reader: inout ByteReader) throws(WireError) {
      user = try reader.field()
      signature = try reader.field()
      max = try reader.field()
      head = try reader.field()
    }

    func write(to writer: inout ByteWriter) { writer.write(fields: user, signature, max, head) }
  }

  /// Tells a device to reconnect to another URI at once (RFC "redirect").
  ///
  /// `version type uriLen(u16) uri`
  public struct Redirect: PDUBody {
    /// The type's number, the second byte of the header.
    public static let type: UInt8 = 2

    /// The URI without a query, at most 65,535 bytes.
    public let uri: [UInt8]

    /// Makes the PDU.
    ///
    /// - Returns: nil if the URI is longer than 65,535 bytes.
    public init?(uri: String) {
      guard uri.utf8.count <= UInt16.max else { return nil }
      self.uri = [UInt8](uri.utf8)
    }

    init(from reader: inout ByteReader) throws(WireError) {
      let length = try reader.read(UInt16.self)
      uri = [UInt8](try reader.read(count: Int(length)))
    }

    func write(to writer: inout ByteWriter) {
      writer.write(UInt16(uri.count))
      writer.write(uri)
    }
  }

  /// Stops the message stream; sent by devices (RFC "pause").
  public typealias Pause = Command<7>
  /// Lets the message stream go on; sent by devices (RFC "resume").
  public typealias Resume = Command<8>

  /// A PDU without fields.
  ///
  /// `version type`
  public struct Command<let number: Int>: PDUBody {
    /// The type's number, the second byte of the header.
    public static var type: UInt8 { UInt8(number) }

    /// Makes the PDU.
    public init() {}

    init(from reader: inout ByteReader) throws(WireError) {}

    func write(to writer: inout ByteWriter) {}
  }
}

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
