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
