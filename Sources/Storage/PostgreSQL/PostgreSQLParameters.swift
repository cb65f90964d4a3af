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

  /// The type of an array and that of its elements.
  struct ArrayType {
    let array: Oid
    let element: Oid

    static let bool = ArrayType(array: 1000, element: PostgreSQLType.bool)
    static let bytea = ArrayType(array: 1001, element: PostgreSQLType.bytea)
    static let text = ArrayType(array: 1009, element: PostgreSQLType.text)
    static let int8 = ArrayType(array: 1016, element: PostgreSQLType.int8)
    static let float8 = ArrayType(array: 1022, element: PostgreSQLType.float8)
  }
}

/// The values for a statement's parameters, in PostgreSQL's binary form.
package struct PostgreSQLParameters {
  /// The type of each value; `inferred` for NULL.
  private(set) var types: [Oid] = []
  /// The values, behind one byte, so that an empty one has an address, unlike NULL.
  private var bytes: [UInt8] = [0]
  /// The place of each value in the bytes; nil for NULL.
  private var ranges: [Range<Int>?] = []

  var count: Int { types.count }

  package init() {}

  /// Adds the value of the next parameter.
  ///
  /// - Throws: `.constraint` for what PostgreSQL can't hold.
  mutating func append(_ value: DatabaseValue) throws(StoreError) {
    let start = bytes.count
    types.append(try encode(value))
    ranges.append(value == .null ? nil : start..<bytes.count)
  }

  /// Adds an array of one dimension as the next parameter.
  ///
  /// - Parameter values: the elements, of the type or NULL.
  /// - Throws: `.constraint` for what PostgreSQL can't hold.
  mutating func append(
    _ values: [DatabaseValue], of type: PostgreSQLType.ArrayType
  ) throws(StoreError) {
    try append(values.map { $0 == .null ? nil : $0 }, of: type) {
      value, parameters throws(StoreError) in
      if type.element == PostgreSQLType.bool {
        parameters.bytes.append(value == .integer(0) ? 0 : 1)
      } else {
        _ = try parameters.encode(value)
      }
    }
  }

  /// Adds an array whose elements are encoded one by one, without a ``DatabaseValue`` for each.
  private mutating func append<Element>(
    _ values: [Element?], of type: PostgreSQLType.ArrayType,
    encode: (Element, inout PostgreSQLParameters) throws(StoreError) -> Void
  ) throws(StoreError) {
    let start = bytes.count
    // One dimension, with or without NULLs, of so many elements counted from 1.
    append(bigEndian: values.isEmpty ? 0 : 1 as UInt32)
    append(bigEndian: values.contains { $0 == nil } ? 1 : 0 as UInt32)
    append(bigEndian: type.element)
    if !values.isEmpty {
      append(bigEndian: UInt32(clamping: values.count))
      append(bigEndian: 1 as UInt32)
    }
    for value in values {
      let place = bytes.count
      append(bigEndian: UInt32.max)
      guard let value else { continue }
      try encode(value, &self)
      let length = UInt32(clamping: bytes.count - place - 4)
      unsafe bytes.withUnsafeMutableBytes { bytes in
        unsafe bytes.storeBytes(of: length.bigEndian, toByteOffset: place, as: UInt32.self)
      }
    }
    guard bytes.count <= Int32.max else { throw Self.tooLong }
    types.append(type.array)
    ranges.append(start..<bytes.count)
  }

  /// Adds the bytes of a value, and returns its type.
  private mutating func encode(_ value: DatabaseValue) throws(StoreError) -> Oid {
    let type: Oid
    switch value {
    case .null: type = PostgreSQLType.inferred
    case .integer(let value):
      type = PostgreSQLType.int8
      append(bigEndian: value)
    case .real(let value):
      type = PostgreSQLType.float8
      append(bigEndian: value.bitPattern)
    case .text(let value):
      type = PostgreSQLType.text
      try append(text: value)
    case .blob(let value):
      type = PostgreSQLType.bytea
      bytes += value
    }
    guard bytes.count <= Int32.max else { throw Self.tooLong }
    return type
  }

  private static var tooLong: StoreError {
    StoreError(.constraint(.other), "the values are too long for PostgreSQL")
  }

  private mutating func append(text: String) throws(StoreError) {
    var text = text
    let hasNUL = text.withUTF8 { text in
      unsafe bytes += text
      return unsafe text.contains(0)
    }
    if hasNUL { throw .nulInText }
  }

  private mutating func append(bigEndian value: some FixedWidthInteger) {
    unsafe withUnsafeBytes(of: value.bigEndian) { unsafe bytes.append(contentsOf: $0) }
  }

  /// Passes the values to a function of libpq's.
  func withPointers<Result>(
    _ body: (
      _ values: UnsafePointer<UnsafePointer<CChar>?>, _ lengths: UnsafePointer<Int32>,
      _ formats: UnsafePointer<Int32>
    ) -> Result
  ) -> Result {
    unsafe bytes.withUnsafeBytes { buffer in
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

// Arrays of one type each.
extension PostgreSQLParameters {
  /// Adds an array of type `bigint[]`.
  package mutating func append(integers: [Int64?]) throws(StoreError) {
    try append(integers, of: .int8) { $1.append(bigEndian: $0) }
  }

  /// Adds an array of type `double precision[]`.
  package mutating func append(reals: [Double?]) throws(StoreError) {
    try append(reals, of: .float8) { $1.append(bigEndian: $0.bitPattern) }
  }

  /// Adds an array of type `boolean[]`.
  package mutating func append(booleans: [Bool?]) throws(StoreError) {
    try append(booleans, of: .bool) { $1.bytes.append($0 ? 1 : 0) }
  }

  /// Adds an array of type `text[]`.
  package mutating func append(texts: [String?]) throws(StoreError) {
    try append(texts, of: .text) { text, parameters throws(StoreError) in
      try parameters.append(text: text)
    }
  }

  /// Adds an array of type `bytea[]`.
  package mutating func append(blobs: [[UInt8]?]) throws(StoreError) {
    try append(blobs, of: .bytea) { $1.bytes += $0 }
  }

  /// Adds a value that is no array.
  package mutating func append(_ value: some DatabaseValueConvertible) throws(StoreError) {
    try append(value.databaseValue)
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
      self = .real(Double(Float(bitPattern: UInt32(truncatingIfNeeded: Int64(bigEndian: bytes)))))
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
    switch type {
    case text, varchar, bpchar, name, unknown: true
    default: false
    }
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
