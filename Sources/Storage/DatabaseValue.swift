public import Cryptography
public import Platform

/// A value as SQLite stores it.
public enum DatabaseValue: Sendable, Hashable {
  /// No value.
  case null
  /// A signed 64-bit integer.
  case integer(Int64)
  /// A double.
  case real(Double)
  /// Unicode text, stored as UTF-8.
  case text(String)
  /// Bytes.
  case blob([UInt8])
}

/// A type whose values can be bound to a statement and read from a column.
///
/// An enum or struct with a raw value of such a type needs only to declare the conformance.
public protocol DatabaseValueConvertible {
  /// The value to store.
  var databaseValue: DatabaseValue { get }
  /// Makes a value from a column's, or nil if that has another type or breaks a rule.
  init?(databaseValue: DatabaseValue)
}

extension DatabaseValueConvertible
where Self: RawRepresentable, RawValue: DatabaseValueConvertible {
  /// The raw value, to store.
  @inlinable public var databaseValue: DatabaseValue { rawValue.databaseValue }
  /// Makes a value from a stored raw value.
  @inlinable public init?(databaseValue: DatabaseValue) {
    guard let rawValue = RawValue(databaseValue: databaseValue) else { return nil }
    self.init(rawValue: rawValue)
  }
}

extension DatabaseValue: DatabaseValueConvertible {
  /// The value itself.
  @inlinable public var databaseValue: DatabaseValue { self }
  /// Takes any value as it is.
  @inlinable public init(databaseValue: DatabaseValue) { self = databaseValue }
}

extension DatabaseValueConvertible where Self: FixedWidthInteger {
  /// An INTEGER.
  @inlinable public var databaseValue: DatabaseValue { .integer(Int64(self)) }
  /// Reads an INTEGER that fits.
  @inlinable public init?(databaseValue: DatabaseValue) {
    guard case .integer(let value) = databaseValue else { return nil }
    self.init(exactly: value)
  }
}

extension Int64: DatabaseValueConvertible {}
extension Int: DatabaseValueConvertible {}
extension UInt32: DatabaseValueConvertible {}

extension Bool: DatabaseValueConvertible {
  /// The INTEGER 0 or 1.
  @inlinable public var databaseValue: DatabaseValue { .integer(self ? 1 : 0) }
  /// Reads the INTEGER 0 or 1.
  @inlinable public init?(databaseValue: DatabaseValue) {
    switch databaseValue {
    case .integer(0): self = false
    case .integer(1): self = true
    default: return nil
    }
  }
}

extension Double: DatabaseValueConvertible {
  /// A REAL.
  @inlinable public var databaseValue: DatabaseValue { .real(self) }
  /// Reads a REAL or an INTEGER that a double holds exactly.
  @inlinable public init?(databaseValue: DatabaseValue) {
    switch databaseValue {
    case .real(let value): self = value
    case .integer(let value): self.init(exactly: value)
    default: return nil
    }
  }
}

extension Timestamp: DatabaseValueConvertible {
  /// An INTEGER: the milliseconds since 1970.
  @inlinable public var databaseValue: DatabaseValue { .integer(milliseconds) }
  /// Reads an INTEGER as milliseconds since 1970.
  @inlinable public init?(databaseValue: DatabaseValue) {
    guard case .integer(let milliseconds) = databaseValue else { return nil }
    self.init(milliseconds: milliseconds)
  }
}

extension String: DatabaseValueConvertible {
  /// A TEXT.
  @inlinable public var databaseValue: DatabaseValue { .text(self) }
  /// Reads a TEXT.
  @inlinable public init?(databaseValue: DatabaseValue) {
    guard case .text(let value) = databaseValue else { return nil }
    self = value
  }
}

extension [UInt8]: DatabaseValueConvertible {
  /// A BLOB.
  @inlinable public var databaseValue: DatabaseValue { .blob(self) }
  /// Reads a BLOB.
  @inlinable public init?(databaseValue: DatabaseValue) {
    guard case .blob(let value) = databaseValue else { return nil }
    self = value
  }
}

extension DatabaseValueConvertible where Self: FixedBytes {
  /// The bytes, as a BLOB.
  @inlinable public var databaseValue: DatabaseValue { .blob(bytes) }
  /// Reads a BLOB of as many bytes.
  @inlinable public init?(databaseValue: DatabaseValue) {
    guard case .blob(let bytes) = databaseValue else { return nil }
    self.init(bytes)
  }
}

extension Optional: DatabaseValueConvertible where Wrapped: DatabaseValueConvertible {
  /// NULL for nil.
  @inlinable public var databaseValue: DatabaseValue { self?.databaseValue ?? .null }
  /// Reads NULL as nil, and anything else as the wrapped type.
  @inlinable public init?(databaseValue: DatabaseValue) {
    if case .null = databaseValue {
      self = .none
      return
    }
    guard let value = Wrapped(databaseValue: databaseValue) else { return nil }
    self = .some(value)
  }
}
