public import Cryptography
internal import Wire

extension PDU {
  /// From a device: resumes the service for a user (RFC "login").
  ///
  /// `version type userPubEncrKey[32] signature[64] max(u16) head[64]`
  public struct Login: PDUBody {
    /// The type's number, the second byte of the header.
    public static let type: UInt8 = 1

    /// Who logs in.
    public let user: EncryptionPublicKey
    /// The user's own, over ``user``.
    public let signature: Signature
    /// How many messages to look back at most; zero: all.
    public let max: UInt16
    /// The last message that the device has; zero: none.
    public let head: MessageID

    /// The PDU with its fields.
    public init(user: EncryptionPublicKey, signature: Signature, max: UInt16, head: MessageID) {
      self.user = user
      self.signature = signature
      self.max = max
      self.head = head
    }

    init(from reader: inout ByteReader) throws(WireError) {
      user = try reader.read(EncryptionPublicKey.self)
      signature = try reader.read(Signature.self)
      max = try reader.read(UInt16.self)
      head = try reader.read(MessageID.self)
    }

    func write(to writer: inout ByteWriter) {
      writer.write(user)
      writer.write(signature)
      writer.write(max)
      writer.write(head)
    }
  }

  /// From the service: reconnect to another place, at once (RFC "redirect").
  ///
  /// `version type uriLen(u16) uri`
  public struct Redirect: PDUBody {
    /// The type's number, the second byte of the header.
    public static let type: UInt8 = 2

    /// Where to, without a query; at most 65,535 bytes.
    public let uri: [UInt8]

    /// The PDU with its field; nil if the URI is longer than 65,535 bytes.
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

  /// From a device: stops the message stream (RFC "pause").
  ///
  /// `version type`
  public struct Pause: PDUBody {
    /// The type's number, the second byte of the header.
    public static let type: UInt8 = 7

    /// The PDU with its fields.
    public init() {}

    init(from reader: inout ByteReader) throws(WireError) {}

    func write(to writer: inout ByteWriter) {}
  }

  /// From a device: lets the message stream go on (RFC "resume").
  ///
  /// `version type`
  public struct Resume: PDUBody {
    /// The type's number, the second byte of the header.
    public static let type: UInt8 = 8

    /// The PDU with its fields.
    public init() {}

    init(from reader: inout ByteReader) throws(WireError) {}

    func write(to writer: inout ByteWriter) {}
  }
}
