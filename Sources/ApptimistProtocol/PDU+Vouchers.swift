public import Cryptography
internal import Formats

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
      (self.subject, self.signature) = (subject, signature)
    }

    init(from reader: inout ByteReader) throws(WireError) {
      (subject, signature) = try reader.fields()
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
      (self.subject, self.vouchers) = (subject, vouchers)
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
