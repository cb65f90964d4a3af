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
    /// - Parameter header: the whole header.
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
        let (position, message): (UInt64, PDU.Message) = try reader.fields()
        self = .message(message, at: position)
      case PDUType.truncate.rawValue:
        let (position, id): (UInt64, MessageID) = try reader.fields()
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
      (self.time, self.headerMax, self.dataMax, self.pageMax) = (time, headerMax, dataMax, pageMax)
    }

    init(from reader: inout ByteReader) throws(WireError) {
      (time, headerMax, dataMax, pageMax) = try reader.fields()
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
    public init(reason: UInt8, uri: ShortText) { (self.reason, self.uri) = (reason, uri) }

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
