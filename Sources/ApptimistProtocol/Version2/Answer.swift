internal import Formats

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
    /// - Parameters:
    ///   - type: the request's type.
    ///   - request: the request's number.
    ///   - result: the content, or an error that is not ``ErrorCode/done``.
    public init(to type: UInt8, request: UInt32, _ result: Result<Content, ErrorCode>) {
      self.type = type & 0x7f
      (self.request, self.result) = (request, result)
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
      (self.epoch, self.first, self.last, self.start) = (epoch, first, last, start)
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
    public init(next: Cursor, count: UInt16) { (self.next, self.count) = (next, count) }
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
