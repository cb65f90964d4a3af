public import Cryptography

internal import Formats

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

    /// The service has seen a signature for the user's uid.
    public static let signed = Flags(rawValue: 4)

    /// True if a device may send them.
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
  public struct Login: HeaderField, Hashable, Sendable {
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
      user = try reader.field()
      signature = try reader.field()
      possession = try reader.field()
      device = try reader.field()
      flags = try reader.field()
      max = try reader.field()
      epoch = try reader.field()
      after = try reader.field()
      head = try reader.field()
    }

    func write(to writer: inout ByteWriter) {
      writer.write(fields: user, signature, possession, device, flags, max, epoch, after, head)
    }
  }

  /// Makes an account, or a forum after the login. The data is the token.
  public struct New: HeaderField, Hashable, Sendable {
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
      key = try reader.field()
      authenticationKey = try reader.field()
      signature = try reader.field()
      possession = try reader.field()
      flags = try reader.field()
      let texts = try reader.texts(2)
      name = texts[0]
      uid = texts[1]
    }

    func write(to writer: inout ByteWriter) {
      writer.write(fields: key, authenticationKey, signature, possession, flags)
      writer.write(texts: name, uid)
    }
  }

  /// The part of a list that a device asks for.
  public struct PageQuery: HeaderField, Hashable, Sendable {
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
      max = try reader.field()
      cursor = try reader.field()
    }

    func write(to writer: inout ByteWriter) { writer.write(fields: max, cursor) }
  }

  /// Asks for the users who vouch for another.
  public struct VouchersQuery: HeaderField, Hashable, Sendable {
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
      subject = try reader.field()
      page = try reader.field()
    }

    func write(to writer: inout ByteWriter) { writer.write(fields: subject, page) }
  }

  /// A search for accounts by a text.
  public struct TextQuery: HeaderField, Hashable, Sendable {
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
      page = try reader.field()
      text = try reader.field()
    }

    func write(to writer: inout ByteWriter) { writer.write(fields: page, text) }
  }

  /// The file that a request is about.
  public struct FileQuery: HeaderField, Hashable, Sendable {
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
      directory = try reader.field()
      filename = try reader.field()
    }

    func write(to writer: inout ByteWriter) { writer.write(fields: directory, filename) }
  }

  /// Says that the device has dealt with everything up to a position.
  public struct Ack: HeaderField, Hashable, Sendable {
    /// The position.
    public var position: UInt64

    /// Makes the PDU's field.
    public init(position: UInt64) { self.position = position }

    init(from reader: inout ByteReader) throws(WireError) {
      position = try reader.field()
    }

    func write(to writer: inout ByteWriter) { writer.write(fields: position) }
  }
}
