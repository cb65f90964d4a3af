public import Cryptography
internal import Wire

extension PDU {
  /// From a device: makes an account, or, logged in, an event or a forum (RFC "new").
  ///
  /// `version type pubEncrKey[32] pubAuthKey[32] nameLen(u8) uidLen(u8) tokenLen(u8) name uid token`
  public struct New: PDUBody {
    /// The type's number, the second byte of the header.
    public static let type: UInt8 = 3

    /// What the account will be known by.
    public let key: EncryptionPublicKey
    /// What its signatures will be verified with.
    public let authenticationKey: AuthenticationPublicKey
    /// To be an ``AccountName``, which isn't checked here.
    public let name: ShortBytes
    /// The identity at the identity provider, of any bytes.
    public let uid: ShortBytes
    /// What proves ``uid`` to the identity provider: a secret.
    public let token: ShortBytes

    /// The PDU with its fields.
    public init(
      key: EncryptionPublicKey, authenticationKey: AuthenticationPublicKey, name: ShortBytes,
      uid: ShortBytes, token: ShortBytes
    ) {
      self.key = key
      self.authenticationKey = authenticationKey
      self.name = name
      self.uid = uid
      self.token = token
    }

    init(from reader: inout ByteReader) throws(WireError) {
      key = try reader.read(EncryptionPublicKey.self)
      authenticationKey = try reader.read(AuthenticationPublicKey.self)
      let nameLength = try reader.read(UInt8.self)
      let uidLength = try reader.read(UInt8.self)
      let tokenLength = try reader.read(UInt8.self)
      name = try reader.read(nameLength)
      uid = try reader.read(uidLength)
      token = try reader.read(tokenLength)
    }

    func write(to writer: inout ByteWriter) {
      writer.write(key)
      writer.write(authenticationKey)
      writer.write(name.count)
      writer.write(uid.count)
      writer.write(token.count)
      writer.write(name)
      writer.write(uid)
      writer.write(token)
    }
  }

  /// From a device: deletes an event or a forum (RFC "del").
  ///
  /// `version type pubEncrKey[32]`
  public struct Del: PDUBody {
    /// The type's number, the second byte of the header.
    public static let type: UInt8 = 4

    /// Which.
    public let key: EncryptionPublicKey

    /// The PDU with its fields.
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

  /// From the service: one match of a search (RFC "user").
  ///
  /// `version type count(u16) pubEncrKey[32] nameLen(u8) uidLen(u8) name uid`
  public struct User: PDUBody {
    /// The type's number, the second byte of the header.
    public static let type: UInt8 = 14

    /// How many more matches follow.
    public let count: UInt16
    /// Who was found.
    public let key: EncryptionPublicKey
    /// The name, empty if nobody was found.
    public let name: ShortBytes
    /// The identity at the identity provider.
    public let uid: ShortBytes

    /// The PDU with its fields.
    public init(count: UInt16, key: EncryptionPublicKey, name: ShortBytes, uid: ShortBytes) {
      self.count = count
      self.key = key
      self.name = name
      self.uid = uid
    }

    init(from reader: inout ByteReader) throws(WireError) {
      count = try reader.read(UInt16.self)
      key = try reader.read(EncryptionPublicKey.self)
      let nameLength = try reader.read(UInt8.self)
      let uidLength = try reader.read(UInt8.self)
      name = try reader.read(nameLength)
      uid = try reader.read(uidLength)
    }

    func write(to writer: inout ByteWriter) {
      writer.write(count)
      writer.write(key)
      writer.write(name.count)
      writer.write(uid.count)
      writer.write(name)
      writer.write(uid)
    }

    /// The answer that says that nobody was found: everything zero.
    public static let nobody = User(count: 0, key: EncryptionPublicKey(), name: .empty, uid: .empty)
  }
}
