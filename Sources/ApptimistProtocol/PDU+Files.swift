public import Cryptography
internal import Wire

extension PDU {
  /// A request about a file, or the answer to one, which has the same type and names the same file.
  ///
  /// `version type pubEncrKey[32] error(u16) filenameLen(u8) filename`
  public protocol FileRequest: Hashable, Sendable {
    /// Whose directory it is.
    var directory: EncryptionPublicKey { get }
    /// What became of the request; in a request of no meaning.
    var error: ErrorCode { get }
    /// To be a ``Filename``, which isn't checked here.
    var filename: ShortBytes { get }

    /// The PDU with its fields.
    init(directory: EncryptionPublicKey, error: ErrorCode, filename: ShortBytes)
  }

  /// From a device: what is in a file; from the service: this, boxed in the data (RFC "read").
  public struct Read: FileRequest, PDUBody {
    /// The type's number, the second byte of the header.
    public static let type: UInt8 = 15

    /// Whose directory it is.
    public let directory: EncryptionPublicKey
    /// What became of the request; in a request of no meaning.
    public let error: ErrorCode
    /// To be a ``Filename``, which isn't checked here.
    public let filename: ShortBytes

    /// The PDU with its fields.
    public init(
      directory: EncryptionPublicKey, error: ErrorCode = .done, filename: ShortBytes
    ) {
      self.directory = directory
      self.error = error
      self.filename = filename
    }
  }

  /// From a device: what is in a file, and keep others from writing it; from the service: the
  /// answer (RFC "lock").
  public struct Lock: FileRequest, PDUBody {
    /// The type's number, the second byte of the header.
    public static let type: UInt8 = 16

    /// Whose directory it is.
    public let directory: EncryptionPublicKey
    /// What became of the request; in a request of no meaning.
    public let error: ErrorCode
    /// To be a ``Filename``, which isn't checked here.
    public let filename: ShortBytes

    /// The PDU with its fields.
    public init(
      directory: EncryptionPublicKey, error: ErrorCode = .done, filename: ShortBytes
    ) {
      self.directory = directory
      self.error = error
      self.filename = filename
    }
  }

  /// From a device: the data, boxed, becomes a file's content; from the service: the answer (RFC
  /// "write").
  public struct Write: FileRequest, PDUBody {
    /// The type's number, the second byte of the header.
    public static let type: UInt8 = 17

    /// Whose directory it is.
    public let directory: EncryptionPublicKey
    /// What became of the request; in a request of no meaning.
    public let error: ErrorCode
    /// To be a ``Filename``, which isn't checked here.
    public let filename: ShortBytes

    /// The PDU with its fields.
    public init(
      directory: EncryptionPublicKey, error: ErrorCode = .done, filename: ShortBytes
    ) {
      self.directory = directory
      self.error = error
      self.filename = filename
    }
  }

  /// From a device: delete a file; from the service: the answer (RFC "remove").
  public struct Remove: FileRequest, PDUBody {
    /// The type's number, the second byte of the header.
    public static let type: UInt8 = 18

    /// Whose directory it is.
    public let directory: EncryptionPublicKey
    /// What became of the request; in a request of no meaning.
    public let error: ErrorCode
    /// To be a ``Filename``, which isn't checked here.
    public let filename: ShortBytes

    /// The PDU with its fields.
    public init(
      directory: EncryptionPublicKey, error: ErrorCode = .done, filename: ShortBytes
    ) {
      self.directory = directory
      self.error = error
      self.filename = filename
    }
  }
}

extension PDU.FileRequest {
  /// Makes the reply to this request.
  ///
  /// - Parameter error: the result of the request.
  public func reply(_ error: ErrorCode) -> Self {
    Self(directory: directory, error: error, filename: filename)
  }

  init(from reader: inout ByteReader) throws(WireError) {
    let directory = try reader.read(EncryptionPublicKey.self)
    let error = ErrorCode(rawValue: try reader.read(UInt16.self))
    let length = try reader.read(UInt8.self)
    self.init(directory: directory, error: error, filename: try reader.read(length))
  }

  func write(to writer: inout ByteWriter) {
    writer.write(directory)
    writer.write(error.rawValue)
    writer.write(filename.count)
    writer.write(filename)
  }
}

extension PDU {
  /// Makes the reply to a request about a file.
  ///
  /// - Parameter error: the result of the request.
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
