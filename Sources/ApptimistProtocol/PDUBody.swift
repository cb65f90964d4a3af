internal import Cryptography
internal import Wire

/// The fields behind version and type in a header.
protocol PDUBody: Hashable, Sendable {
  /// The second byte of the header.
  static var type: UInt8 { get }

  init(from reader: inout ByteReader) throws(WireError)

  func write(to writer: inout ByteWriter)
}

extension PDUBody {
  /// Writes version, type, and the fields.
  func writeHeader(to writer: inout ByteWriter) {
    writer.write(PDU.version)
    writer.write(Self.type)
    write(to: &writer)
  }
}

extension ByteReader {
  /// Takes a value of fixed length.
  mutating func read<Value: FixedBytes>(_: Value.Type) throws(WireError) -> Value {
    let offset = position
    guard let value = Value(try read(count: Value.byteCount)) else {
      throw WireError(.truncated, at: offset)
    }
    return value
  }

  /// Takes as many bytes as a length before them says.
  mutating func read(_ length: UInt8) throws(WireError) -> ShortBytes {
    ShortBytes(unchecked: [UInt8](try read(count: Int(length))))
  }
}

extension ByteWriter {
  /// Appends a value of fixed length.
  mutating func write(_ value: some FixedBytes) {
    value.append(to: &bytes)
  }

  /// Appends bytes whose length was written before.
  mutating func write(_ value: ShortBytes) {
    write(value.bytes)
  }
}
