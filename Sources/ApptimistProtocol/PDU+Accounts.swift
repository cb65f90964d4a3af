public import Cryptography
internal import Formats

extension PDU {
  /// Makes an account, or an event or a forum after the login; sent by devices (RFC "new").
  ///
  /// `version type pubEncrKey[32] pubAuthKey[32] nameLen(u8) uidLen(u8) tokenLen(u8) name uid token`
  public struct New: PDUBody {
    /// The type's number, the second byte of the header.
    public static let type: UInt8 = 3

    /// The key by which the account will be known.
    public let key: EncryptionPublicKey
    /// The key with which its signatures will be verified.
    public let authenticationKey: AuthenticationPublicKey
    /// The name, which need not be an ``AccountName``.
    public let name: ShortBytes
    /// The identity at the identity provider, of any bytes.
    public let uid: ShortBytes
    /// A secret that proves ``uid`` to the identity provider.
    public let token: ShortBytes

    /// Makes the PDU.
    public init(
      key: EncryptionPublicKey, authenticationKey: AuthenticationPublicKey, name: ShortBytes,
      uid: ShortBytes, token: ShortBytes
    ) {
      (self.key, self.authenticationKey, self.name, self.uid) = (key, authenticationKey, name, uid)
      self.token = token
    }

    init(from reader: inout ByteReader) throws(WireError) {
      (key, authenticationKey) = try reader.fields()
      let texts = try reader.texts(3)
      (name, uid, token) = (texts[0], texts[1], texts[2])
    }

    func write(to writer: inout ByteWriter) {
      writer.write(fields: key, authenticationKey)
      writer.write(texts: name, uid, token)
    }
  }

  /// Deletes an event or a forum; sent by devices (RFC "del").
  public typealias Del = KeyRequest<4>

  /// One match of a search; sent by the service (RFC "user").
  ///
  /// `version type count(u16) pubEncrKey[32] nameLen(u8) uidLen(u8) name uid`
  public struct User: PDUBody {
    /// The type's number, the second byte of the header.
    public static let type: UInt8 = 14

    /// The number of matches that follow.
    public let count: UInt16
    /// The key of the account that was found.
    public let key: EncryptionPublicKey
    /// The name, empty if nobody was found.
    public let name: ShortBytes
    /// The identity at the identity provider.
    public let uid: ShortBytes

    /// Makes the PDU.
    public init(count: UInt16, key: EncryptionPublicKey, name: ShortBytes, uid: ShortBytes) {
      (self.count, self.key, self.name, self.uid) = (count, key, name, uid)
    }

    init(from reader: inout ByteReader) throws(WireError) {
      (count, key) = try reader.fields()
      let texts = try reader.texts(2)
      (name, uid) = (texts[0], texts[1])
    }

    func write(to writer: inout ByteWriter) {
      writer.write(fields: count, key)
      writer.write(texts: name, uid)
    }

    /// The reply to a search that finds nobody: everything is zero.
    public static let nobody = User(count: 0, key: EncryptionPublicKey(), name: .empty, uid: .empty)
  }
}
