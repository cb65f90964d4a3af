public import Cryptography
internal import Formats

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
      (self.maxUsers, self.text) = (maxUsers, text)
    }

    init(from reader: inout ByteReader) throws(WireError) { (maxUsers, text) = try reader.fields() }

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

    init(from reader: inout ByteReader) throws(WireError) { key = try reader.fields() }

    func write(to writer: inout ByteWriter) { writer.write(fields: key) }
  }
}
