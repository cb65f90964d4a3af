public import Formats

/// A protocol data unit: its header, in clear.
///
/// `version type …` (RFC "PDU"; field order by the page's "Fields, in wire order"). The data that may
/// come with it is boxed for somebody else and is not part of this.
public enum PDU: Hashable, Sendable {
  /// See ``Login``.
  case login(Login)
  /// See ``Redirect``.
  case redirect(Redirect)
  /// See ``New``.
  case new(New)
  /// See ``Del``.
  case del(Del)
  /// See ``Message``.
  case message(Message)
  /// See ``Truncate``.
  case truncate(Truncate)
  /// See ``Pause``.
  case pause(Pause)
  /// See ``Resume``.
  case resume(Resume)
  /// See ``Vouch``.
  case vouch(Vouch)
  /// See ``Vouchers``.
  case vouchers(Vouchers)
  /// See ``SearchByName``.
  case searchByName(SearchByName)
  /// See ``SearchByUid``.
  case searchByUid(SearchByUid)
  /// See ``SearchByKey``.
  case searchByKey(SearchByKey)
  /// See ``User``.
  case user(User)
  /// See ``Read``.
  case read(Read)
  /// See ``Lock``.
  case lock(Lock)
  /// See ``Write``.
  case write(Write)
  /// See ``Remove``.
  case remove(Remove)

  /// The version of the protocol.
  public static let version: UInt8 = 1

  /// Reads a header.
  ///
  /// - Parameter header: the whole header in clear. The caller limits its length; no more memory is taken
  ///   than a small multiple of that.
  /// - Throws: `.unknownVersion` and `.unknownType`, whatever follows; `.malformed` for a header too
  ///   short for its type, or too long.
  public init(decoding header: [UInt8]) throws(PDUError) {
    guard let version = header.first else { throw .malformed(WireError(.truncated, at: 0)) }
    guard version == Self.version else { throw .unknownVersion(version) }
    guard header.count > 1 else { throw .malformed(WireError(.truncated, at: 1)) }
    let pdu: PDU?
    do throws(WireError) {
      var reader = ByteReader(header)
      _ = try reader.read(count: 2)
      pdu = try PDU(type: header[1], from: &reader)
      if pdu != nil { try reader.finish() }
    } catch { throw .malformed(error) }
    guard let pdu else { throw .unknownType(header[1]) }
    self = pdu
  }

  /// Reads the fields behind version and type; nil for an unknown type.
  private init?(type: UInt8, from reader: inout ByteReader) throws(WireError) {
    switch type {
    case Login.type: self = .login(try Login(from: &reader))
    case Redirect.type: self = .redirect(try Redirect(from: &reader))
    case New.type: self = .new(try New(from: &reader))
    case Del.type: self = .del(try Del(from: &reader))
    case Message.type: self = .message(try Message(from: &reader))
    case Truncate.type: self = .truncate(try Truncate(from: &reader))
    case Pause.type: self = .pause(try Pause(from: &reader))
    case Resume.type: self = .resume(try Resume(from: &reader))
    case Vouch.type: self = .vouch(try Vouch(from: &reader))
    case Vouchers.type: self = .vouchers(try Vouchers(from: &reader))
    case SearchByName.type: self = .searchByName(try SearchByName(from: &reader))
    case SearchByUid.type: self = .searchByUid(try SearchByUid(from: &reader))
    case SearchByKey.type: self = .searchByKey(try SearchByKey(from: &reader))
    case User.type: self = .user(try User(from: &reader))
    case Read.type: self = .read(try Read(from: &reader))
    case Lock.type: self = .lock(try Lock(from: &reader))
    case Write.type: self = .write(try Write(from: &reader))
    case Remove.type: self = .remove(try Remove(from: &reader))
    default: return nil
    }
  }

  /// Writes the header in clear.
  public func encoded() -> [UInt8] {
    var writer = ByteWriter(capacity: 128)
    write(to: &writer)
    return writer.bytes
  }

  func write(to writer: inout ByteWriter) {
    switch self {
    case .login(let body): body.writeHeader(to: &writer)
    case .redirect(let body): body.writeHeader(to: &writer)
    case .new(let body): body.writeHeader(to: &writer)
    case .del(let body): body.writeHeader(to: &writer)
    case .message(let body): body.writeHeader(to: &writer)
    case .truncate(let body): body.writeHeader(to: &writer)
    case .pause(let body): body.writeHeader(to: &writer)
    case .resume(let body): body.writeHeader(to: &writer)
    case .vouch(let body): body.writeHeader(to: &writer)
    case .vouchers(let body): body.writeHeader(to: &writer)
    case .searchByName(let body): body.writeHeader(to: &writer)
    case .searchByUid(let body): body.writeHeader(to: &writer)
    case .searchByKey(let body): body.writeHeader(to: &writer)
    case .user(let body): body.writeHeader(to: &writer)
    case .read(let body): body.writeHeader(to: &writer)
    case .lock(let body): body.writeHeader(to: &writer)
    case .write(let body): body.writeHeader(to: &writer)
    case .remove(let body): body.writeHeader(to: &writer)
    }
  }
}

/// The fields behind version and type in a header.
protocol PDUBody: HeaderField, Hashable, Sendable {
  /// The second byte of the header.
  static var type: UInt8 { get }
}

extension PDUBody {
  /// Writes version, type, and the fields.
  func writeHeader(to writer: inout ByteWriter) {
    writer.write(PDU.version)
    writer.write(Self.type)
    write(to: &writer)
  }
}

/// The reason for which a header is not accepted.
public enum PDUError: Error, Hashable, Sendable {
  /// The version is not spoken here, and nothing behind it can be read.
  case unknownVersion(UInt8)
  /// The version has no such type; the PDU is to be ignored.
  case unknownType(UInt8)
  /// The header is too short for its type, or too long.
  case malformed(WireError)
}
