public import Cryptography
internal import Formats

extension PDU {
  /// Asks the service for the content of a file; the reply has it, boxed, in the data (RFC "read").
  public typealias Read = FileRequest<15>
  /// Asks for the content of a file, and keeps other sessions from writing it (RFC "lock").
  public typealias Lock = FileRequest<16>
  /// Makes the data, which is boxed, the content of a file (RFC "write").
  public typealias Write = FileRequest<17>
  /// Deletes a file (RFC "remove").
  public typealias Remove = FileRequest<18>

  /// A request about a file, or the reply to one, which has the same type and names the same file.
  ///
  /// `version type pubEncrKey[32] error(u16) filenameLen(u8) filename`
  public struct FileRequest<let number: Int>: PDUBody {
    /// The type's number, the second byte of the header.
    public static var type: UInt8 { UInt8(number) }

    /// The user or forum in whose directory the file is.
    public let directory: EncryptionPublicKey
    /// The result of the request; a request has it without meaning.
    public let error: ErrorCode
    /// The name, which need not be a ``Filename``.
    public let filename: ShortBytes

    /// Makes the PDU.
    public init(directory: EncryptionPublicKey, error: ErrorCode = .done, filename: ShortBytes) {
      self.directory = directory
      self.error = error
      self.filename = filename
    }

    init(from reader: inout ByteReader) throws(WireError) {
      directory = try reader.field()
      error = try reader.field()
      filename = try reader.field()
    }

    func write(to writer: inout ByteWriter) { writer.write(fields: directory, error, filename) }

    /// Makes the reply to this request.
    public func reply(_ error: ErrorCode) -> FileRequest {
      FileRequest(directory: directory, error: error, filename: filename)
    }
  }

  /// Makes the reply to a request about a file.
  ///
  /// - Returns: a PDU of the same type, or nil if this is no request about a file.
  public func fileReply(_ error: ErrorCode) -> PDU? {
    switch self {
    case .read(let request): .read(request.reply(error))
    case .lock(let request): .lock(request.reply(error))
    case .write(let request): .write(request.reply(error))
    case .remove(let request): .remove(request.reply(error))
    default: nil
    }
  }
}
