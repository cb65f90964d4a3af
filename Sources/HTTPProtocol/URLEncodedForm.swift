/// Names and values of a query or of a body of the type `application/x-www-form-urlencoded`.
public struct URLEncodedForm: Sendable {
  /// The pairs in order, decoded. A name may be empty; a value is empty where there is no `=`.
  public let pairs: [(name: String, value: String)]

  /// Decodes a form.
  ///
  /// - Parameter bytes: pairs joined by `&`; empty ones are skipped.
  /// - Returns: nil if an encoding is malformed, or a name or value isn't UTF-8 or has a NUL.
  public init?(_ bytes: ArraySlice<UInt8>) {
    var pairs: [(name: String, value: String)] = []
    for part in bytes.split(separator: UInt8(ascii: "&")) {
      let name = part.prefix { $0 != UInt8(ascii: "=") }
      guard let decodedName = PercentEncoding.decodeText(name, plusIsBlank: true),
        let value = PercentEncoding.decodeText(
          part[name.endIndex...].dropFirst(), plusIsBlank: true)
      else { return nil }
      pairs.append((decodedName, value))
    }
    self.pairs = pairs
  }

  /// The value of the first pair with a name.
  ///
  /// - Parameter name: the name, decoded.
  public subscript(name: String) -> String? { pairs.first { $0.name == name }?.value }
}
