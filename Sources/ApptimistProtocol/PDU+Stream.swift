public import Cryptography
internal import Formats

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
      (self.user, self.signature, self.max, self.head) = (user, signature, max, head)
    }

    init(from reader: inout ByteReader) throws(WireError) {
      (user, signature, max, head) = try reader.fields()
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
