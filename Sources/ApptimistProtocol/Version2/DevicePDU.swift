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
