internal import Formats

/// The fields behind version and type in a header.
protocol PDUBody: HeaderField, Hashable, Sendable {
  /// The second byte of the header.
  static var type: UInt8 { get }
}

extension PDUBody {
  /// Writes version, type, and the fields.
  func writeHeader(to writer: inout ByteWriter) {
    writer.write(PDU.version)
    writer.write(Self.type)
    write(to: &writer)
  }
}
