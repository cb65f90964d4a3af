internal import Cryptography
internal import Formats

/// A field of a header, or several that are read and written together.
protocol HeaderField {
  init(from reader: inout ByteReader) throws(WireError)

  func write(to writer: inout ByteWriter)
}

extension HeaderField where Self: FixedWidthInteger & UnsignedInteger {
  init(from reader: inout ByteReader) throws(WireError) { self = try reader.read(Self.self) }

  func write(to writer: inout ByteWriter) { writer.write(self) }
}

extension UInt8: HeaderField {}
extension UInt16: HeaderField {}
extension UInt32: HeaderField {}
extension UInt64: HeaderField {}

extension HeaderField where Self: FixedBytes {
  init(from reader: inout ByteReader) throws(WireError) {
    let offset = reader.position
    guard let value = Self(try reader.read(count: Self.byteCount)) else {
      throw WireError(.truncated, at: offset)
    }
    self = value
  }

  func write(to writer: inout ByteWriter) { append(to: &writer.bytes) }
}

extension AuthenticationPublicKey: HeaderField {}
extension EncryptionPublicKey: HeaderField {}
extension MessageID: HeaderField {}
extension Signature: HeaderField {}
extension Version2.Cursor: HeaderField {}
extension Version2.DeviceID: HeaderField {}
extension Version2.Possession: HeaderField {}
extension Version2.PushTag: HeaderField {}

extension HeaderField where Self: RawRepresentable, RawValue: HeaderField {
  init(from reader: inout ByteReader) throws(WireError) {
    let offset = reader.position
    guard let value = Self(rawValue: try RawValue(from: &reader)) else {
      throw WireError(.leftOver, at: offset)
    }
    self = value
  }

  func write(to writer: inout ByteWriter) { rawValue.write(to: &writer) }
}

extension ErrorCode: HeaderField {}
extension Version2.Flags: HeaderField {}
extension Version2.User.Kind: HeaderField {}

extension ShortBytes: HeaderField {
  init(from reader: inout ByteReader) throws(WireError) { self = try reader.texts(1)[0] }

  func write(to writer: inout ByteWriter) { writer.write(texts: self) }
}

extension ByteReader {
  /// Reads the next field.
  mutating func field<Field: HeaderField>() throws(WireError) -> Field {
    try Field(from: &self)
  }

  /// Reads texts, all of whose lengths come before the first of them.
  mutating func texts(_ count: Int) throws(WireError) -> [ShortBytes] {
    var lengths: [UInt8] = []
    for _ in 0..<count { lengths.append(try read(UInt8.self)) }
    var texts: [ShortBytes] = []
    for length in lengths {
      texts.append(ShortBytes(unchecked: [UInt8](try read(count: Int(length)))))
    }
    return texts
  }
}

extension ByteWriter {
  /// Appends fields.
  mutating func write<each Field: HeaderField>(fields field: repeat each Field) {
    repeat (each field).write(to: &self)
  }

  /// Appends the lengths of texts, and then the texts.
  mutating func write(texts: ShortBytes...) {
    for text in texts { write(text.count) }
    for text in texts { write(text.bytes) }
  }

  /// Appends a value of fixed length.
  mutating func write(_ value: some FixedBytes) { value.append(to: &bytes) }
}
