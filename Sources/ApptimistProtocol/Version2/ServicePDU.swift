public import Cryptography

internal import Formats

extension Version2 {
  /// A PDU that the service sends: an answer, or what it sends of itself.
  public enum ServicePDU: Hashable, Sendable {
    /// See ``Hello``.
    case hello(Hello)
    /// A message of the stream, at a position; the data is its content.
    case message(PDU.Message, at: UInt64)
    /// A truncation of the stream, at a position.
    case truncate(MessageID, at: UInt64)
    /// See ``Redirect``.
    case redirect(Redirect)
    /// See ``Answer``.
    case answer(Answer)

    /// Reads a header.
    ///
    /// - Returns: nil for a type that is not known, which a device passes over.
    /// - Throws: ``WireError`` for a header that is too short or too long, or of another version.
    public static func decode(_ header: ArraySlice<UInt8>) throws -> ServicePDU? {
      let start = try HeaderStart(header)
      var reader = start.fields
      guard let pdu = try ServicePDU(start, from: &reader) else { return nil }
      try reader.finish()
      return pdu
    }

    private init?(_ start: HeaderStart, from reader: inout ByteReader) throws(WireError) {
      switch start.type {
      case 20: self = .hello(try Hello(from: &reader))
      case 2: self = .redirect(try Redirect(from: &reader))
      case PDUType.message.rawValue:
        let position: UInt64 = try reader.field()
        let message: PDU.Message = try reader.field()
        self = .message(message, at: position)
      case PDUType.truncate.rawValue:
        let position: UInt64 = try reader.field()
        let id: MessageID = try reader.field()
        self = .truncate(id, at: position)
      case 0x80...: self = .answer(try Answer(start, from: &reader))
      default: return nil
      }
    }

    /// Writes the header.
    public func encoded() -> [UInt8] {
      var writer = ByteWriter(capacity: 128)
      write(to: &writer)
      return writer.bytes
    }

    func write(to writer: inout ByteWriter) {
      switch self {
      case .hello(let hello):
        writer.writeHeaderStart(20, request: 0)
        hello.write(to: &writer)
      case .message(let message, let position):
        writer.writeHeaderStart(PDUType.message.rawValue, request: 0)
        writer.write(fields: position, message)
      case .truncate(let id, let position):
        writer.writeHeaderStart(PDUType.truncate.rawValue, request: 0)
        writer.write(fields: position, id)
      case .redirect(let redirect):
        writer.writeHeaderStart(2, request: 0)
        redirect.write(to: &writer)
      case .answer(let answer): answer.write(to: &writer)
      }
    }
  }

  /// The first thing that the service says: the time, and what it takes.
  public struct Hello: Hashable, Sendable {
    /// The service's time, in seconds since 1970, UTC.
    public var time: UInt64
    /// The longest header that the service takes, in bytes.
    public var headerMax: UInt32
    /// The longest data that the service takes, in bytes.
    public var dataMax: UInt32
    /// The most items of a page.
    public var pageMax: UInt16

    /// Makes the PDU's fields.
    public init(time: UInt64, headerMax: UInt32, dataMax: UInt32, pageMax: UInt16) {
      self.time = time
      self.headerMax = headerMax
      self.dataMax = dataMax
      self.pageMax = pageMax
    }

    init(from reader: inout ByteReader) throws(WireError) {
      time = try reader.field()
      headerMax = try reader.field()
      dataMax = try reader.field()
      pageMax = try reader.field()
    }

    func write(to writer: inout ByteWriter) {
      writer.write(fields: time, headerMax, dataMax, pageMax)
    }
  }

  /// Sends the device to another URI; the last thing that the service says.
  public struct Redirect: Hashable, Sendable {
    /// The longest URI, in bytes.
    public static let longest = 2_048

    /// 1: this node goes away; 2: the user is served there.
    public var reason: UInt8
    /// The URI, without query, fragment and user.
    public var uri: ShortText

    /// Makes the PDU's fields.
    public init(reason: UInt8, uri: ShortText) {
      self.reason = reason
      self.uri = uri
    }

    init(from reader: inout ByteReader) throws(WireError) {
      reason = try reader.read(UInt8.self)
      let length = try reader.read(UInt16.self)
      uri = ShortText(unchecked: [UInt8](try reader.read(count: Int(length))))
    }

    func write(to writer: inout ByteWriter) {
      writer.write(reason)
      writer.write(UInt16(uri.bytes.count))
      writer.write(uri.bytes)
    }
  }

  /// At most 65,535 bytes, as many as a field whose length is two bytes can hold.
  public struct ShortText: Hashable, Sendable {
    /// The bytes.
    public let bytes: [UInt8]

    /// Takes the UTF-8 form of a text.
    ///
    /// - Returns: nil if that is longer than 65,535 bytes.
    public init?(_ text: String) {
      guard text.utf8.count <= UInt16.max else { return nil }
      bytes = [UInt8](text.utf8)
    }

    init(unchecked bytes: [UInt8]) { self.bytes = bytes }
  }
}

extension Version2 {
  /// The answer to a request: its type and number, an error, and behind error 0 what the type has.
  public struct Answer: Hashable, Sendable {
    /// The result that follows error 0.
    public enum Content: Hashable, Sendable {
      /// Nothing follows.
      case done
      /// The answer to `login`.
      case login(Start)
      /// The answer to `message` and `truncate`.
      case placed(isKnown: Bool, position: UInt64)
      /// The answer to `vouchers` and searches; the data is the list.
      case page(Page)
    }

    /// The type of the request.
    public let type: UInt8
    /// The number of the request.
    public let request: UInt32
    /// The content, or the error.
    public let result: Result<Content, ErrorCode>

    /// Makes the answer to a request.
    ///
    /// - Parameter result: the content, or an error that is not ``ErrorCode/done``.
    public init(to type: UInt8, request: UInt32, _ result: Result<Content, ErrorCode>) {
      self.type = type & 0x7f
      self.request = request
      self.result = result
    }

    init(_ start: HeaderStart, from reader: inout ByteReader) throws(WireError) {
      type = start.type & 0x7f
      request = start.request
      let error = try ErrorCode(from: &reader)
      guard error == .done else {
        result = .failure(error)
        return
      }
      result = .success(try Content(of: PDUType(rawValue: type), from: &reader))
    }

    func write(to writer: inout ByteWriter) {
      writer.writeHeaderStart(type | 0x80, request: request)
      switch result {
      case .failure(let error): writer.write(error.rawValue)
      case .success(let content):
        writer.write(ErrorCode.done.rawValue)
        content.write(to: &writer)
      }
    }
  }

  /// The answer to `login`: where the stream is, and where it begins.
  public struct Start: Hashable, Sendable {
    /// The epoch in which positions are given; not 0.
    public var epoch: UInt64
    /// The position of the oldest entry that is there; 1 in a new queue.
    public var first: UInt64
    /// The newest position given; 0 in a new queue.
    public var last: UInt64
    /// The position behind which the stream begins.
    public var start: UInt64
    /// The flags of the account.
    public var flags: Flags

    /// Makes the answer's fields.
    public init(epoch: UInt64, first: UInt64, last: UInt64, start: UInt64, flags: Flags) {
      self.epoch = epoch
      self.first = first
      self.last = last
      self.start = start
      self.flags = flags
    }
  }

  /// The head of a part of a list.
  public struct Page: Hashable, Sendable {
    /// The beginning of the next page, or zero if this is the last.
    public var next: Cursor
    /// The number of items in the data.
    public var count: UInt16

    /// Makes the answer's fields.
    public init(next: Cursor, count: UInt16) {
      self.next = next
      self.count = count
    }
  }
}

extension Version2.Answer.Content {
  /// Reads what follows error 0; of a type that is not known there is nothing to be understood.
  fileprivate init(of type: Version2.PDUType?, from reader: inout ByteReader) throws(WireError) {
    switch type {
    case .login:
      self = .login(
        Version2.Start(
          epoch: try .init(from: &reader), first: try .init(from: &reader),
          last: try .init(from: &reader), start: try .init(from: &reader),
          flags: try .init(from: &reader)))
    case .message, .truncate:
      let isKnown = try reader.read(UInt8.self) != 0
      self = .placed(isKnown: isKnown, position: try reader.read(UInt64.self))
    case .vouchers, .searchByName, .searchByUid, .searchByKey:
      self = .page(Version2.Page(next: try .init(from: &reader), count: try .init(from: &reader)))
    default: self = .done
    }
  }

  fileprivate func write(to writer: inout ByteWriter) {
    switch self {
    case .done: break
    case .login(let start):
      writer.write(fields: start.epoch, start.first, start.last, start.start, start.flags)
    case .placed(let isKnown, let position):
      writer.write(fields: UInt8(isKnown ? 1 : 0), position)
    case .page(let page): writer.write(fields: page.next, page.count)
    }
  }
}

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
      self.key = key
      self.authenticationKey = authenticationKey
      self.kind = kind
      self.flags = flags
      self.name = name
      self.uid = uid
    }

    /// Reads a list.
    ///
    /// - Returns: nil if it is not exactly so many accounts.
    public static func list(_ count: UInt16, in data: ArraySlice<UInt8>) -> [User]? {
      items(count, in: data) { reader throws(WireError) in try User(from: &reader) }
    }

    private init(from reader: inout ByteReader) throws(WireError) {
      key = try reader.field()
      authenticationKey = try reader.field()
      kind = try reader.field()
      flags = try reader.field()
      let texts = try reader.texts(2)
      name = texts[0]
      uid = texts[1]
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
      self.voucher = voucher
      self.authenticationKey = authenticationKey
      self.signature = signature
    }

    /// Reads a list.
    ///
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
