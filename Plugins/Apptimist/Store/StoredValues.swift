package import ApptimistProtocol
package import Cryptography
public import Storage

/// The number of a user or a forum: its row in `apptimist_users`. Numbers ascend with the accounts'
/// age, and none is ever given twice.
struct AccountNumber: RawRepresentable, Hashable, Comparable, Sendable, DatabaseValueConvertible {
  let rawValue: Int64

  static func < (left: AccountNumber, right: AccountNumber) -> Bool {
    left.rawValue < right.rawValue
  }

  /// The number in eight bytes, whose order is that of the numbers.
  var bytes: [UInt8] { (1...8).map { UInt8(truncatingIfNeeded: rawValue >> (64 - 8 * $0)) } }
}

/// The number of a message in the message log: its row in `apptimist_contents`. Numbers ascend in the
/// order in which messages came.
struct LogNumber: RawRepresentable, Hashable, Comparable, Sendable, DatabaseValueConvertible {
  let rawValue: Int64

  /// The number of the message right behind this one.
  var next: LogNumber { LogNumber(rawValue: rawValue + 1) }

  static func < (left: LogNumber, right: LogNumber) -> Bool { left.rawValue < right.rawValue }
}

/// The numbers that count upwards here: whatever stands in the file, the next ones can be computed.
private let countable: ClosedRange<Int64> = 0...1 << 62

extension LogNumber {
  /// Reads an INTEGER that can be counted on from.
  init?(databaseValue: DatabaseValue) {
    guard case .integer(let value) = databaseValue, countable.contains(value) else { return nil }
    self.init(rawValue: value)
  }
}

extension MailboxPosition: DatabaseValueConvertible {
  /// Reads an INTEGER that can be counted on from.
  package init?(databaseValue: DatabaseValue) {
    guard case .integer(let value) = databaseValue, countable.contains(value) else { return nil }
    self.init(rawValue: value)
  }

  /// True if the next position can be computed.
  var isCountable: Bool { countable.contains(rawValue) }
}

// MARK: - Keys and digests

extension EncryptionPublicKey: DatabaseValueConvertible {}
extension AuthenticationPublicKey: DatabaseValueConvertible {}
extension MessageID: DatabaseValueConvertible {}
extension Signature: DatabaseValueConvertible {}
extension Version2.DeviceID: DatabaseValueConvertible {}

/// The first 16 bytes of a message's identifier, by which mailboxes know it. Nobody can make a message
/// that shares them with one of somebody else, and two of one's own that do only hurt oneself.
struct KnownID: FixedBytes, DatabaseValueConvertible {
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

/// An identity provider's name for a user, in UTF-8: unlike other texts it may hold any character, NUL too.
struct StoredUID: DatabaseValueConvertible {
  let text: String

  init(_ text: String) { self.text = text }

  /// The text, as a BLOB.
  var databaseValue: DatabaseValue { .blob(Array(text.utf8)) }

  /// Reads a BLOB that is UTF-8.
  init?(databaseValue: DatabaseValue) {
    guard case .blob(let bytes) = databaseValue,
      let text = String(validating: bytes, as: UTF8.self)
    else { return nil }
    self.text = text
  }
}

/// A keyed hash of an ephemeral key, which tells nobody else which key it was.
struct EphemeralKeyHash: FixedBytes, DatabaseValueConvertible {
  private var first: UInt64 = 0
  private var second: UInt64 = 0

  init() {}

  /// Hashes a key.
  init(of key: EncryptionPublicKey, with hash: KeyedHash) {
    unsafe withUnsafeMutableBytes(of: &self) {
      unsafe $0.copyBytes(from: hash.hash(key.bytes).bytes.prefix(Self.byteCount))
    }
  }
}
