/// Names and values of a query or of a body of the type `application/x-www-form-urlencoded`.
public struct URLEncodedForm: Sendable, Equatable {
  /// A name and its value, decoded.
  public struct Pair: Sendable, Equatable {
    /// The name; may be empty.
    public let name: String
    /// The value; empty where there is no `=`.
    public let value: String
  }

  /// The pairs in order.
  public let pairs: [Pair]

  /// Decodes a form.
  ///
  /// - Parameter bytes: pairs joined by `&`; empty ones are skipped.
  /// - Returns: nil if an encoding is malformed, or a name or value isn't UTF-8 or has a NUL.
  public init?(_ bytes: ArraySlice<UInt8>) {
    var pairs: [Pair] = []
    for part in bytes.split(separator: UInt8(ascii: "&")) {
      let name = part.prefix { $0 != UInt8(ascii: "=") }
      guard let decodedName = PercentEncoding.decodeText(name, plusIsBlank: true),
        let value = PercentEncoding.decodeText(
          part[name.endIndex...].dropFirst(), plusIsBlank: true)
      else { return nil }
      pairs.append(Pair(name: decodedName, value: value))
    }
    self.pairs = pairs
  }

  /// The value of the first pair with a name.
  ///
  /// - Parameter name: the name, decoded.
  public subscript(name: String) -> String? { pairs.first { $0.name == name }?.value }
}
