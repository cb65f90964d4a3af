public import Cryptography

internal import Formats

extension Version2 {
  /// A PDU that a device sends: `version(u8)=2 type(u8) request(u32)` and the fields of its type.
  public struct DevicePDU: Hashable, Sendable {
    /// The requests of a device, by the protocol page's names.
    public enum Body: Hashable, Sendable {
      /// See ``Login``.
      case login(Login)
      /// See ``New``; the data is the token.
      case new(New)
      /// Deletes a forum.
      case del(PDU.Del)
      /// Sends a message, which is the data.
      case message(PDU.Message)
      /// Deletes a message's content.
      case truncate(PDU.Truncate)
      /// Stops the stream.
      case pause
      /// Lets the stream go on.
      case resume
      /// Vouches for a user, or takes that back.
      case vouch(PDU.Vouch)
      /// See ``VouchersQuery``.
      case vouchers(VouchersQuery)
      /// Asks for the accounts with a name, its beginning, or a pattern.
      case searchByName(TextQuery)
      /// Asks for the users with an identity at the identity provider.
      case searchByUid(TextQuery)
      /// Asks for the account with a key.
      case searchByKey(PDU.SearchByKey)
      /// Asks for the content of a file.
      case read(FileQuery)
      /// Asks for the content of a file, and keeps other sessions from writing it.
      case lock(FileQuery)
      /// Makes the data the content of a file.
      case write(FileQuery)
      /// Deletes a file.
      case remove(FileQuery)
      /// See ``Ack``.
      case ack(Ack)
      /// See ``Push``; the data is ``PushBinding/data``.
      case push(Push)
      /// Deletes the user's account; signed as ``Version2/Handshake/leave(_:)`` says.
      case leave(Signature)
      /// Makes the user a reader of a forum that asks for a token.
      case join(EncryptionPublicKey)
    }

    /// The number by which the answer is known; 0 wants none.
    public let request: UInt32
    /// The request of the device.
    public let body: Body
    /// The type's number.
    public let type: UInt8

    /// Makes the PDU.
    public init(request: UInt32, _ body: Body) {
      self.request = request
      self.body = body
      type = body.parts.type.rawValue
    }

    /// Reads a header.
    ///
    /// - Throws: ``DevicePDUError``.
    public init(decoding header: ArraySlice<UInt8>) throws(DevicePDUError) {
      let start: HeaderStart
      do { start = try HeaderStart(header) } catch { throw .malformed }
      guard let type = PDUType(rawValue: start.type) else {
        throw .unknownType(start.type, request: start.request)
      }
      request = start.request
      self.type = start.type
      do throws(WireError) {
        var reader = start.fields
        body = try Body(type, from: &reader)
        try reader.finish()
      } catch { throw .malformed }
    }

    /// Writes the header.
    public func encoded() -> [UInt8] {
      var writer = ByteWriter(capacity: 256)
      write(to: &writer)
      return writer.bytes
    }

    func write(to writer: inout ByteWriter) {
      writer.writeHeaderStart(type, request: request)
      body.parts.fields?.write(to: &writer)
    }
  }

  /// The reason for which a device's header is not taken.
  public enum DevicePDUError: Error, Hashable, Sendable {
    /// It is shorter than 6 bytes, of another version, or too short or too long for its type (close 1008).
    case malformed
    /// Devices send no such type; the answer is error 11.
    case unknownType(UInt8, request: UInt32)
  }

  /// The types that devices send.
  enum PDUType: UInt8, CaseIterable {
    case login = 1
    case new = 3
    case del, message, truncate, pause, resume, vouch, vouchers, searchByName, searchByUid
    case searchByKey
    case read = 15
    case lock, write, remove, ack
    case push = 21, leave, join
  }

  /// The fields that every header begins with.
  struct HeaderStart {
    let type: UInt8
    let request: UInt32
    let fields: ByteReader

    init(_ header: ArraySlice<UInt8>) throws(WireError) {
      var reader = ByteReader(header)
      let version = try reader.read(UInt8.self)
      type = try reader.read(UInt8.self)
      request = try reader.read(UInt32.self)
      guard version == Version2.number else { throw WireError(.leftOver, at: 0) }
      fields = reader
    }
  }
}

extension ByteWriter {
  mutating func writeHeaderStart(_ type: UInt8, request: UInt32) {
    write(Version2.number)
    write(type)
    write(request)
  }
}

extension Version2.DevicePDU.Body {
  fileprivate init(_ type: Version2.PDUType, from reader: inout ByteReader) throws(WireError) {
    switch type {
    case .login: self = .login(try .init(from: &reader))
    case .new: self = .new(try .init(from: &reader))
    case .del: self = .del(try .init(from: &reader))
    case .message: self = .message(try .init(from: &reader))
    case .truncate: self = .truncate(try .init(from: &reader))
    case .pause: self = .pause
    case .resume: self = .resume
    case .vouch: self = .vouch(try .init(from: &reader))
    case .vouchers: self = .vouchers(try .init(from: &reader))
    case .searchByName: self = .searchByName(try .init(from: &reader))
    case .searchByUid: self = .searchByUid(try .init(from: &reader))
    case .searchByKey: self = .searchByKey(try .init(from: &reader))
    case .read: self = .read(try .init(from: &reader))
    case .lock: self = .lock(try .init(from: &reader))
    case .write: self = .write(try .init(from: &reader))
    case .remove: self = .remove(try .init(from: &reader))
    case .ack: self = .ack(try .init(from: &reader))
    case .push: self = .push(try .init(from: &reader))
    case .leave: self = .leave(try .init(from: &reader))
    case .join: self = .join(try .init(from: &reader))
    }
  }

  /// The type, and the fields behind the head, if it has any.
  fileprivate var parts: (type: Version2.PDUType, fields: (any HeaderField)?) {
    switch self {
    case .login(let fields): (.login, fields)
    case .new(let fields): (.new, fields)
    case .del(let fields): (.del, fields)
    case .message(let fields): (.message, fields)
    case .truncate(let fields): (.truncate, fields)
    case .pause: (.pause, nil)
    case .resume: (.resume, nil)
    case .vouch(let fields): (.vouch, fields)
    case .vouchers(let fields): (.vouchers, fields)
    case .searchByName(let fields): (.searchByName, fields)
    case .searchByUid(let fields): (.searchByUid, fields)
    case .searchByKey(let fields): (.searchByKey, fields)
    case .read(let fields): (.read, fields)
    case .lock(let fields): (.lock, fields)
    case .write(let fields): (.write, fields)
    case .remove(let fields): (.remove, fields)
    case .ack(let fields): (.ack, fields)
    case .push(let fields): (.push, fields)
    case .leave(let signature): (.leave, signature)
    case .join(let forum): (.join, forum)
    }
  }
}

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

extension Version2 {
  /// Binds a push address to the session's user and device, or unbinds it.
  public struct Push: HeaderField, Hashable, Sendable {
    /// The number of a ``PushBinding/Kind``; 0 unbinds, and all else is 0 then.
    public var kind: UInt8
    /// Bit 0: nobody wakes but the keys; else everybody but they.
    public var flags: UInt8
    /// The bytes that come back in each wake.
    public var tag: PushTag
    /// The number of keys in the data.
    public var keyCount: UInt16
    /// The bytes of the address in the data.
    public var addressLength: UInt16

    /// Makes the PDU's fields, or those that unbind.
    public init(_ binding: PushBinding?) {
      kind = binding?.kind.rawValue ?? 0
      flags = binding?.isChosen == true ? 1 : 0
      tag = binding?.tag ?? PushTag()
      keyCount = UInt16(clamping: binding?.keys.count ?? 0)
      addressLength = UInt16(clamping: binding?.address.count ?? 0)
    }

    init(from reader: inout ByteReader) throws(WireError) {
      kind = try reader.field()
      flags = try reader.field()
      tag = try reader.field()
      keyCount = try reader.field()
      addressLength = try reader.field()
    }

    func write(to writer: inout ByteWriter) {
      writer.write(fields: kind, flags, tag, keyCount, addressLength)
    }
  }

  /// The 8 bytes by which an app with several accounts knows which one a wake is for.
  public struct PushTag: FixedBytes {
    private var value: UInt64 = 0

    /// Makes 8 zero bytes.
    public init() {}
  }

  /// A phone's or browser's push address, and whose messages wake it.
  public struct PushBinding: Hashable, Sendable {
    /// The kinds of addresses.
    public enum Kind: UInt8, CaseIterable, Sendable {
      /// An APNs device token, of 32 to 100 bytes.
      case apns = 1
      /// The same, of an app that Xcode has signed.
      case apnsSandbox
      /// The UTF-8 form of an FCM registration token.
      case fcm
      /// A browser's public key (65 bytes), its secret (16 bytes) and its endpoint.
      case web
    }

    /// The kind of ``address``.
    public var kind: Kind
    /// The address.
    public var address: [UInt8]
    /// The bytes that come back in each wake.
    public var tag: PushTag
    /// True if nobody wakes the device but ``keys``; else everybody but they.
    public var isChosen: Bool
    /// Users and forums, at most 256.
    public var keys: [EncryptionPublicKey]

    /// Describes a binding; without keys everybody wakes the device.
    public init(
      _ kind: Kind, _ address: [UInt8], tag: PushTag = PushTag(), isChosen: Bool = false,
      keys: [EncryptionPublicKey] = []
    ) {
      self.kind = kind
      self.address = address
      self.tag = tag
      self.isChosen = isChosen
      self.keys = keys
    }

    /// The address and the keys.
    public var data: [UInt8] { address + keys.flatMap(\.bytes) }
  }
}
