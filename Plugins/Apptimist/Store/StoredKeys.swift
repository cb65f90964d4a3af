public import ApptimistProtocol
public import Cryptography
public import Storage

extension DatabaseValueConvertible where Self: FixedBytes {
  /// The bytes, as a BLOB.
  public var databaseValue: DatabaseValue { .blob(bytes) }

  /// Reads a BLOB of as many bytes.
  public init?(databaseValue: DatabaseValue) {
    guard case .blob(let bytes) = databaseValue else { return nil }
    self.init(bytes)
  }
}

extension EncryptionPublicKey: DatabaseValueConvertible {}
extension AuthenticationPublicKey: DatabaseValueConvertible {}
extension MessageID: DatabaseValueConvertible {}

/// What queues know a message by: the first 16 bytes of its identifier. Nobody can make a message that
/// shares them with one of somebody else, and two of one's own that do only hurt oneself.
struct KnownID: FixedBytes {
  private var first: UInt64 = 0
  private var second: UInt64 = 0

  init() {}

  init(_ id: MessageID) {
    unsafe withUnsafeBytes(of: id) { id in
      first = unsafe id.load(as: UInt64.self)
      second = unsafe id.load(fromByteOffset: 8, as: UInt64.self)
    }
  }
}

extension KnownID: DatabaseValueConvertible {}
