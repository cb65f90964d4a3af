/// The header fields of a response, kept as the bytes that HTTP/1.1 sends.
///
/// A prepared set is copied by reference, so that a response from memory builds nothing.
/// `Date`, `Connection` and `Content-Length` are the server's and don't belong here.
public struct HeaderFields: Sendable, Equatable {
  /// Field lines, each ended by CR LF.
  public private(set) var bytes: [UInt8] = []

  /// No fields.
  public init() {}

  /// Adds a field line.
  ///
  /// - Parameters:
  ///   - name: the field's name.
  ///   - value: its value; a control character in it becomes a space, so that no value ends its line.
  public mutating func append(_ name: FieldName, _ value: String) { append(name, value.utf8) }

  /// Adds a field line whose value is given as bytes.
  ///
  /// - Parameters:
  ///   - name: the field's name.
  ///   - value: its value; a control character in it becomes a space, so that no value ends its line.
  public mutating func append(_ name: FieldName, _ value: some Collection<UInt8>) {
    bytes.append(name.text)
    bytes.append(": ")
    bytes.append(contentsOf: value.lazy.map { $0 < 0x20 || $0 == 0x7f ? 0x20 : $0 })
    bytes.append("\r\n")
  }

  /// Adds all fields of another set.
  ///
  /// - Parameter other: the fields, added behind those that are there.
  public mutating func append(contentsOf other: HeaderFields) { bytes += other.bytes }

  /// The fields as pairs, in order: for HTTP/2, and for tests.
  public var pairs: [(name: String, value: String)] {
    bytes.split(separator: UInt8(ascii: "\n")).compactMap { line in
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
      return (
        String(decoding: line[..<colon], as: UTF8.self),
        String(decoding: line[(colon + 2)...].dropLast(), as: UTF8.self)
      )
    }
  }

  /// The value of the first field with a name, compared without regard to case.
  ///
  /// - Parameter name: the field's name.
  /// - Returns: the value, or nil without such a field.
  public func first(_ name: FieldName) -> String? {
    pairs.first { $0.name.lowercased() == "\(name.text)".lowercased() }?.value
  }
}
