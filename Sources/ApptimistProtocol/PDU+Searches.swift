public import Cryptography
internal import Wire

extension PDU {
  /// Asks the service for the accounts with a name (RFC "searchByName").
  ///
  /// `version type maxUsers(u16) nameLen(u8) name`
  public struct SearchByName: PDUBody {
    /// The type's number, the second byte of the header.
    public static let type: UInt8 = 11

    /// The most matches to send, or zero for as many as the service likes.
    public let maxUsers: UInt16
    /// A name, its beginning, or a pattern; of any bytes.
    public let name: ShortBytes

    /// Makes the PDU.
    public init(maxUsers: UInt16, name: ShortBytes) {
      self.maxUsers = maxUsers
      self.name = name
    }

    init(from reader: inout ByteReader) throws(WireError) {
      maxUsers = try reader.read(UInt16.self)
      let nameLength = try reader.read(UInt8.self)
      name = try reader.read(nameLength)
    }

    func write(to writer: inout ByteWriter) {
      writer.write(maxUsers)
      writer.write(name.count)
      writer.write(name)
    }
  }

  /// Asks the service for the users with an identity (RFC "searchByUid").
  ///
  /// `version type maxUsers(u16) uidLen(u8) uid`
  public struct SearchByUid: PDUBody {
    /// The type's number, the second byte of the header.
    public static let type: UInt8 = 12

    /// The most matches to send, or zero for as many as the service likes.
    public let maxUsers: UInt16
    /// An identity at the identity provider, of any bytes.
    public let uid: ShortBytes

    /// Makes the PDU.
    public init(maxUsers: UInt16, uid: ShortBytes) {
      self.maxUsers = maxUsers
      self.uid = uid
    }

    init(from reader: inout ByteReader) throws(WireError) {
      maxUsers = try reader.read(UInt16.self)
      let uidLength = try reader.read(UInt8.self)
      uid = try reader.read(uidLength)
    }

    func write(to writer: inout ByteWriter) {
      writer.write(maxUsers)
      writer.write(uid.count)
      writer.write(uid)
    }
  }

  /// Asks the service for the account with a key (RFC "searchByKey").
  ///
  /// `version type pubEncrKey[32]`
  public struct SearchByKey: PDUBody {
    /// The type's number, the second byte of the header.
    public static let type: UInt8 = 13

    /// The key of a user or a forum.
    public let key: EncryptionPublicKey

    /// Makes the PDU.
    public init(key: EncryptionPublicKey) {
      self.key = key
    }

    init(from reader: inout ByteReader) throws(WireError) {
      key = try reader.read(EncryptionPublicKey.self)
    }

    func write(to writer: inout ByteWriter) {
      writer.write(key)
    }
  }
}
