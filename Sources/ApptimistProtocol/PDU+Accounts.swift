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
      self.key = key
      self.authenticationKey = authenticationKey
      self.name = name
      self.uid = uid
      self.token = token
    }

    init(from reader: inout ByteReader) throws(WireError) {
      key = try reader.field()
      authenticationKey = try reader.field()
      let texts = try reader.texts(3)
      name = texts[0]
      uid = texts[1]
      token = texts[2]
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
      self.count = count
      self.key = key
      self.name = name
      self.uid = uid
    }

    init(from reader: inout ByteReader) throws(WireError) {
      count = try reader.field()
      key = try reader.field()
      let texts = try reader.texts(2)
      name = texts[0]
      uid = texts[1]
    }

    func write(to writer: inout ByteWriter) {
      writer.write(fields: count, key)
      writer.write(texts: name, uid)
    }

    /// The reply to a search that finds nobody: everything is zero.
    public static let nobody = User(count: 0, key: EncryptionPublicKey(), name: .empty, uid: .empty)
  }
}

extension PDU {
  /// Asks the service for the accounts with a name, its beginning, or a pattern (RFC "searchByName").
  public typealias SearchByName = TextSearch<11>
  /// Asks the service for the users with an identity at the identity provider (RFC "searchByUid").
  public typealias SearchByUid = TextSearch<12>
  /// Asks the service for the account with a key (RFC "searchByKey").
  public typealias SearchByKey = KeyRequest<13>

  /// A search for accounts by a text.
  ///
  /// `version type maxUsers(u16) textLen(u8) text`
  public struct TextSearch<let number: Int>: PDUBody {
    /// The type's number, the second byte of the header.
    public static var type: UInt8 { UInt8(number) }

    /// The most matches to send, or zero for as many as the service likes.
    public let maxUsers: UInt16
    /// The text to search for, of any bytes.
    public let text: ShortBytes

    /// Makes the PDU.
    public init(maxUsers: UInt16, text: ShortBytes) {
      self.maxUsers = maxUsers
      self.text = text
    }

    init(from reader: inout ByteReader) throws(WireError) {
      maxUsers = try reader.field()
      text = try reader.field()
    }

    func write(to writer: inout ByteWriter) { writer.write(fields: maxUsers, text) }
  }

  /// A request about the account with a key.
  ///
  /// `version type pubEncrKey[32]`
  public struct KeyRequest<let number: Int>: PDUBody {
    /// The type's number, the second byte of the header.
    public static var type: UInt8 { UInt8(number) }

    /// The key of the account.
    public let key: EncryptionPublicKey

    /// Makes the PDU.
    public init(key: EncryptionPublicKey) { self.key = key }

    init(from reader: inout ByteReader) throws(WireError) {
      key = try reader.field()
    }

    func write(to writer: inout ByteWriter) { writer.write(fields: key) }
  }
}

extension PDU {
  /// Vouches for a user, or takes that back; sent by devices (RFC "vouch").
  ///
  /// `version type subjectPubEncrKey[32] signature[64]`
  public struct Vouch: PDUBody {
    /// The type's number, the second byte of the header.
    public static let type: UInt8 = 9

    /// The user or forum that is vouched for.
    public let subject: EncryptionPublicKey
    /// The signature of the user who vouches over ``subject``; zero takes it back.
    public let signature: Signature

    /// Makes the PDU.
    public init(subject: EncryptionPublicKey, signature: Signature) {
      self.subject = subject
      self.signature = signature
    }

    init(from reader: inout ByteReader) throws(WireError) {
      subject = try reader.field()
      signature = try reader.field()
    }

    func write(to writer: inout ByteWriter) { writer.write(fields: subject, signature) }
  }

  /// Asks for the users who vouch for another, if it has no keys; lists them, if the service sends it
  /// (RFC "vouchers").
  ///
  /// `version type subjectPubEncrKey[32] count(u32) voucherPubEncrKeys[count][32]`
  public struct Vouchers: PDUBody {
    /// The type's number, the second byte of the header.
    public static let type: UInt8 = 10

    /// The user or forum that is vouched for.
    public let subject: EncryptionPublicKey
    /// The users who vouch.
    public let vouchers: [EncryptionPublicKey]

    /// Makes the PDU.
    public init(subject: EncryptionPublicKey, vouchers: [EncryptionPublicKey]) {
      self.subject = subject
      self.vouchers = vouchers
    }

    init(from reader: inout ByteReader) throws(WireError) {
      subject = try EncryptionPublicKey(from: &reader)
      let count = try reader.read(UInt32.self)
      // Before memory is taken: as many as it says must be there.
      var keys = ByteReader(try reader.read(count: Int(count) * EncryptionPublicKey.byteCount))
      var vouchers: [EncryptionPublicKey] = []
      vouchers.reserveCapacity(Int(count))
      while keys.remaining > 0 { vouchers.append(try EncryptionPublicKey(from: &keys)) }
      self.vouchers = vouchers
    }

    func write(to writer: inout ByteWriter) {
      writer.write(fields: subject, UInt32(vouchers.count))
      for voucher in vouchers { writer.write(voucher) }
    }
  }
}
