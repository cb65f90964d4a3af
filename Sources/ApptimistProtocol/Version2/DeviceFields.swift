public import Cryptography
internal import Wire

extension Version2 {
  /// Bits that `new`, `login`, its answer and ``User`` carry; those that are not named here are 0.
  public struct Flags: OptionSet, Hashable, Sendable {
    /// The bits.
    public let rawValue: UInt8

    /// Makes flags of any bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The account has no version 1, from now on and for ever.
    public static let closed = Flags(rawValue: 1)
    /// The service holds the forum's secret.
    public static let escrowed = Flags(rawValue: 2)

    /// Whether a device may send them.
    public var isFromDevice: Bool { isSubset(of: .closed) }
  }

  /// The identifier that an installation of an app made once: 16 random bytes, which prove nothing.
  public struct DeviceID: FixedBytes {
    private var first: UInt64 = 0
    private var second: UInt64 = 0

    /// Makes 16 zero bytes.
    public init() {}
  }

  /// The place in a list at which its next page begins: 16 bytes that only the service can read.
  public struct Cursor: FixedBytes {
    private var first: UInt64 = 0
    private var second: UInt64 = 0

    /// Makes 16 zero bytes: the beginning of a list, or its end in an answer.
    public init() {}
  }

  /// Logs a user in.
  public struct Login: Hashable, Sendable {
    /// The user.
    public var user: EncryptionPublicKey
    /// The user's signature over ``Handshake/login(_:)``.
    public var signature: Signature
    /// The proof that the device has the user's secret encryption key.
    public var possession: Possession
    /// The installation of the app.
    public var device: DeviceID
    /// ``Flags/closed`` closes version 1 to the account.
    public var flags: Flags
    /// The number of messages to look back at most, or 0 for all.
    public var max: UInt32
    /// The epoch to which ``after`` belongs.
    public var epoch: UInt64
    /// The position that the device has; ``acknowledged`` stands for the one that it has acknowledged.
    public var after: UInt64
    /// The last message of a device that comes from version 1, or zero.
    public var head: MessageID

    /// The value of ``after`` that stands for the acknowledged position.
    public static let acknowledged = UInt64.max

    /// Makes the PDU's fields.
    public init(
      user: EncryptionPublicKey, signature: Signature, possession: Possession, device: DeviceID,
      flags: Flags = [], max: UInt32 = 0, epoch: UInt64 = 0, after: UInt64 = acknowledged,
      head: MessageID = MessageID()
    ) {
      self.user = user
      self.signature = signature
      self.possession = possession
      self.device = device
      self.flags = flags
      self.max = max
      self.epoch = epoch
      self.after = after
      self.head = head
    }

    init(from reader: inout ByteReader) throws(WireError) {
      user = try reader.read(EncryptionPublicKey.self)
      signature = try reader.read(Signature.self)
      possession = try reader.read(Possession.self)
      device = try reader.read(DeviceID.self)
      flags = Flags(rawValue: try reader.read(UInt8.self))
      max = try reader.read(UInt32.self)
      epoch = try reader.read(UInt64.self)
      after = try reader.read(UInt64.self)
      head = try reader.read(MessageID.self)
    }

    func write(to writer: inout ByteWriter) {
      writer.write(user)
      writer.write(signature)
      writer.write(possession)
      writer.write(device)
      writer.write(flags.rawValue)
      writer.write(max)
      writer.write(epoch)
      writer.write(after)
      writer.write(head)
    }
  }

  /// Makes an account, or a forum after the login. The data is the token.
  public struct New: Hashable, Sendable {
    /// The key by which the account will be known.
    public var key: EncryptionPublicKey
    /// The key with which its signatures will be verified.
    public var authenticationKey: AuthenticationPublicKey
    /// The signature with that key over ``Handshake/new(_:_:)``.
    public var signature: Signature
    /// The proof that the device has the secret half of ``key``.
    public var possession: Possession
    /// ``Flags/closed`` closes version 1 to the account.
    public var flags: Flags
    /// The name, which need not be an ``AccountName``.
    public var name: ShortBytes
    /// The identity at the identity provider, of any bytes.
    public var uid: ShortBytes

    /// Makes the PDU's fields.
    public init(
      key: EncryptionPublicKey, authenticationKey: AuthenticationPublicKey, signature: Signature,
      possession: Possession, flags: Flags = [], name: ShortBytes, uid: ShortBytes = .empty
    ) {
      self.key = key
      self.authenticationKey = authenticationKey
      self.signature = signature
      self.possession = possession
      self.flags = flags
      self.name = name
      self.uid = uid
    }

    init(from reader: inout ByteReader) throws(WireError) {
      key = try reader.read(EncryptionPublicKey.self)
      authenticationKey = try reader.read(AuthenticationPublicKey.self)
      signature = try reader.read(Signature.self)
      possession = try reader.read(Possession.self)
      flags = Flags(rawValue: try reader.read(UInt8.self))
      let nameLength = try reader.read(UInt8.self)
      let uidLength = try reader.read(UInt8.self)
      name = try reader.read(nameLength)
      uid = try reader.read(uidLength)
    }

    func write(to writer: inout ByteWriter) {
      writer.write(key)
      writer.write(authenticationKey)
      writer.write(signature)
      writer.write(possession)
      writer.write(flags.rawValue)
      writer.write(name.count)
      writer.write(uid.count)
      writer.write(name)
      writer.write(uid)
    }
  }

  /// The part of a list that a device asks for.
  public struct PageQuery: Hashable, Sendable {
    /// The most items of the page, or 0 for as many as the service likes.
    public var max: UInt16
    /// Zero for the first page, else ``Page/next`` of the page before.
    public var cursor: Cursor

    /// Makes the fields.
    public init(max: UInt16 = 0, cursor: Cursor = Cursor()) {
      self.max = max
      self.cursor = cursor
    }

    init(from reader: inout ByteReader) throws(WireError) {
      max = try reader.read(UInt16.self)
      cursor = try reader.read(Cursor.self)
    }

    func write(to writer: inout ByteWriter) {
      writer.write(max)
      writer.write(cursor)
    }
  }

  /// Asks for the users who vouch for another.
  public struct VouchersQuery: Hashable, Sendable {
    /// The user or forum that is vouched for.
    public var subject: EncryptionPublicKey
    /// The part of the list.
    public var page: PageQuery

    /// Makes the PDU's fields.
    public init(subject: EncryptionPublicKey, page: PageQuery = PageQuery()) {
      self.subject = subject
      self.page = page
    }

    init(from reader: inout ByteReader) throws(WireError) {
      subject = try reader.read(EncryptionPublicKey.self)
      page = try PageQuery(from: &reader)
    }

    func write(to writer: inout ByteWriter) {
      writer.write(subject)
      page.write(to: &writer)
    }
  }

  /// A search for accounts by a text.
  public struct TextQuery: Hashable, Sendable {
    /// The text to search for, of any bytes.
    public var text: ShortBytes
    /// The part of the list.
    public var page: PageQuery

    /// Makes the PDU's fields.
    public init(text: ShortBytes, page: PageQuery = PageQuery()) {
      self.text = text
      self.page = page
    }

    init(from reader: inout ByteReader) throws(WireError) {
      page = try PageQuery(from: &reader)
      let length = try reader.read(UInt8.self)
      text = try reader.read(length)
    }

    func write(to writer: inout ByteWriter) {
      page.write(to: &writer)
      writer.write(text.count)
      writer.write(text)
    }
  }

  /// The file that a request is about.
  public struct FileQuery: Hashable, Sendable {
    /// The user or forum in whose directory the file is.
    public var directory: EncryptionPublicKey
    /// The name, which need not be a ``Filename``.
    public var filename: ShortBytes

    /// Makes the PDU's fields.
    public init(directory: EncryptionPublicKey, filename: ShortBytes) {
      self.directory = directory
      self.filename = filename
    }

    init(from reader: inout ByteReader) throws(WireError) {
      directory = try reader.read(EncryptionPublicKey.self)
      let length = try reader.read(UInt8.self)
      filename = try reader.read(length)
    }

    func write(to writer: inout ByteWriter) {
      writer.write(directory)
      writer.write(filename.count)
      writer.write(filename)
    }
  }

  /// Says that the device has dealt with everything up to a position.
  public struct Ack: Hashable, Sendable {
    /// The position.
    public var position: UInt64

    /// Makes the PDU's field.
    public init(position: UInt64) { self.position = position }

    init(from reader: inout ByteReader) throws(WireError) {
      position = try reader.read(UInt64.self)
    }

    func write(to writer: inout ByteWriter) { writer.write(position) }
  }
}
