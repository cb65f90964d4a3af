public import Cryptography
internal import Formats

extension Version2 {
  /// An account that a search found.
  public struct User: Hashable, Sendable {
    /// The kinds of accounts.
    public enum Kind: UInt8, Hashable, Sendable {
      case user = 1
      case forum = 2
    }

    /// The account's key.
    public var key: EncryptionPublicKey
    /// The key with which its signatures are verified.
    public var authenticationKey: AuthenticationPublicKey
    /// The kind of the account.
    public var kind: Kind
    /// The bits that tell of an account closed to version 1, and of a forum whose secret the service holds.
    public var flags: Flags
    /// Its name.
    public var name: ShortBytes
    /// The identity at the identity provider; empty for a forum.
    public var uid: ShortBytes

    /// Describes an account.
    public init(
      key: EncryptionPublicKey, authenticationKey: AuthenticationPublicKey, kind: Kind,
      flags: Flags, name: ShortBytes, uid: ShortBytes
    ) {
      (self.key, self.authenticationKey, self.kind) = (key, authenticationKey, kind)
      (self.flags, self.name, self.uid) = (flags, name, uid)
    }

    /// Reads a list.
    ///
    /// - Parameters:
    ///   - count: the number of its items.
    ///   - data: the list.
    /// - Returns: nil if it is not exactly so many accounts.
    public static func list(_ count: UInt16, in data: ArraySlice<UInt8>) -> [User]? {
      items(count, in: data) { reader throws(WireError) in try User(from: &reader) }
    }

    private init(from reader: inout ByteReader) throws(WireError) {
      (key, authenticationKey, kind, flags) = try reader.fields()
      let texts = try reader.texts(2)
      (name, uid) = (texts[0], texts[1])
    }

    /// Appends the account to a list.
    public func append(to list: inout [UInt8]) {
      key.append(to: &list)
      authenticationKey.append(to: &list)
      list += [kind.rawValue, flags.rawValue, name.count, uid.count]
      list += name.bytes
      list += uid.bytes
    }
  }

  /// A user who vouches for another, and the proof.
  public struct Voucher: Hashable, Sendable {
    /// The user who vouches.
    public var voucher: EncryptionPublicKey
    /// The key with which ``signature`` is verified.
    public var authenticationKey: AuthenticationPublicKey
    /// The signature over ``Version2/vouch(for:by:at:)``; zero if it was given in version 1.
    public var signature: Signature

    /// Describes a voucher.
    public init(
      voucher: EncryptionPublicKey, authenticationKey: AuthenticationPublicKey, signature: Signature
    ) {
      (self.voucher, self.authenticationKey) = (voucher, authenticationKey)
      self.signature = signature
    }

    /// Reads a list.
    ///
    /// - Parameters:
    ///   - count: the number of its items.
    ///   - data: the list.
    /// - Returns: nil if it is not exactly so many vouchers.
    public static func list(_ count: UInt16, in data: ArraySlice<UInt8>) -> [Voucher]? {
      items(count, in: data) { reader throws(WireError) in
        Voucher(
          voucher: try .init(from: &reader), authenticationKey: try .init(from: &reader),
          signature: try .init(from: &reader))
      }
    }

    /// Appends the voucher to a list.
    public func append(to list: inout [UInt8]) {
      voucher.append(to: &list)
      authenticationKey.append(to: &list)
      signature.append(to: &list)
    }
  }

  private static func items<Item>(
    _ count: UInt16, in data: ArraySlice<UInt8>,
    _ read: (inout ByteReader) throws(WireError) -> Item
  ) -> [Item]? {
    do throws(WireError) {
      var reader = ByteReader(data)
      var items: [Item] = []
      for _ in 0..<count { items.append(try read(&reader)) }
      try reader.finish()
      return items
    } catch { return nil }
  }
}
