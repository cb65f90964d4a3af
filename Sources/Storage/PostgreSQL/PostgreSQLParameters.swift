internal import CPostgreSQL

/// The types of values that PostgreSQL has no end of, as far as a store knows them, by their numbers in `pg_type`.
enum PostgreSQLType {
  static let bool: Oid = 16
  static let bytea: Oid = 17
  static let name: Oid = 19
  static let int8: Oid = 20
  static let int2: Oid = 21
  static let int4: Oid = 23
  static let text: Oid = 25
  static let float4: Oid = 700
  static let float8: Oid = 701
  static let unknown: Oid = 705
  static let bpchar: Oid = 1042
  static let varchar: Oid = 1043
  /// The server finds out the type of a parameter by its place.
  static let inferred: Oid = 0
}

/// The values for a statement's parameters, in PostgreSQL's binary form.
struct PostgreSQLParameters {
  /// The type of each value; `inferred` for NULL.
  private(set) var types: [Oid] = []
  private var bytes: [UInt8] = []
  /// The place of each value in the bytes; nil for NULL.
  private var ranges: [Range<Int>?] = []

  var count: Int { types.count }

  /// Adds the value of the next parameter.
  ///
  /// - Throws: `.constraint` for what PostgreSQL can't hold.
  mutating func append(_ value: DatabaseValue) throws(StoreError) {
    let start = bytes.count
    switch value {
    case .null: types.append(PostgreSQLType.inferred)
    case .integer(let value):
      types.append(PostgreSQLType.int8)
      append(bigEndian: UInt64(bitPattern: value))
    case .real(let value):
      types.append(PostgreSQLType.float8)
      append(bigEndian: value.bitPattern)
    case .text(let value):
      guard !value.utf8.contains(0) else {
        throw StoreError(.constraint(.other), "PostgreSQL has no text with the character NUL")
      }
      types.append(PostgreSQLType.text)
      bytes += value.utf8
    case .blob(let value):
      types.append(PostgreSQLType.bytea)
      bytes += value
    }
    guard bytes.count <= Int32.max else {
      throw StoreError(.constraint(.other), "the values are too long for PostgreSQL")
    }
    ranges.append(value == .null ? nil : start..<bytes.count)
  }

  private mutating func append(bigEndian value: UInt64) {
    for shift in stride(from: 56, through: 0, by: -8) {
      bytes.append(UInt8(truncatingIfNeeded: value >> UInt64(shift)))
    }
  }

  /// Passes the values to a function of libpq's.
  func withPointers<Result>(
    _ body: (
      _ values: UnsafePointer<UnsafePointer<CChar>?>, _ lengths: UnsafePointer<Int32>,
      _ formats: UnsafePointer<Int32>
    ) -> Result
  ) -> Result {
    // One byte at least, so that an empty value has an address, unlike NULL.
    let bytes = bytes + [0]
    return unsafe bytes.withUnsafeBytes { buffer in
      let values = unsafe ranges.map { range in
        unsafe range.flatMap { range in
          unsafe buffer.baseAddress?.advanced(by: range.lowerBound)
            .assumingMemoryBound(to: CChar.self)
        }
      }
      let lengths = ranges.map { Int32($0?.count ?? 0) }
      let formats = [Int32](repeating: 1, count: count)
      return unsafe body(values, lengths, formats)
    }
  }
}

extension DatabaseValue {
  /// Reads a value in PostgreSQL's binary form, or returns nil for a type or a length that a store doesn't know, and for
  /// text that isn't UTF-8.
  init?(_ bytes: Span<UInt8>, of type: Oid) {
    switch (type, bytes.count) {
    case (PostgreSQLType.bool, 1), (PostgreSQLType.int2, 2), (PostgreSQLType.int4, 4),
      (PostgreSQLType.int8, 8):
      self = .integer(Int64(bigEndian: bytes))
    case (PostgreSQLType.float4, 4):
      self = .real(
        Double(Float(bitPattern: UInt32(truncatingIfNeeded: Int64(bigEndian: bytes)))))
    case (PostgreSQLType.float8, 8):
      self = .real(Double(bitPattern: UInt64(bitPattern: Int64(bigEndian: bytes))))
    case (PostgreSQLType.bytea, _): self.init(blob: bytes)
    case (let type, _) where PostgreSQLType.isText(type): self.init(text: bytes)
    default: return nil
    }
  }
}

extension PostgreSQLType {
  static func isText(_ type: Oid) -> Bool {
    [text, varchar, bpchar, name, unknown].contains(type)
  }
}

extension Int64 {
  /// Reads an integer of up to eight bytes, with its sign.
  fileprivate init(bigEndian bytes: Span<UInt8>) {
    var value: Int64 = bytes[0] < 0x80 ? 0 : -1
    for index in bytes.indices { value = value << 8 | Int64(bytes[index]) }
    self = value
  }
}
