public import HTTPProtocol

/// The whole response of another server.
public struct IncomingResponse: Sendable {
  /// The version of HTTP that the response came in.
  public enum Version: Sendable {
    /// HTTP/1.0 or HTTP/1.1.
    case http1
    /// HTTP/2.
    case http2
  }

  /// The status code, from 200 to 599.
  public let status: Status
  /// The version of HTTP.
  public let version: Version
  /// The header fields.
  public let fields: ResponseFields
  /// The body as it was sent: a content coding is not undone.
  public let body: [UInt8]
}

/// The header fields of a response, in order, without those of interim responses and trailers.
public struct ResponseFields: Sendable {
  /// The names as they came and the values without surrounding blanks; malformed UTF-8 is replaced.
  public internal(set) var pairs: [(name: String, value: String)] = []

  /// The value of the first field with a name.
  ///
  /// - Parameter name: the name, compared without regard to case.
  /// - Returns: the value, or nil without such a field.
  public func first(_ name: FieldName) -> String? {
    let wanted = "\(name.text)".lowercased()
    return pairs.first { $0.name.lowercased() == wanted }?.value
  }

  /// The values of all fields with a name, joined as RFC 9110 section 5.3 allows.
  ///
  /// - Parameter name: the name, compared without regard to case.
  /// - Returns: the values joined by `", "`, or nil without such a field.
  public func value(_ name: FieldName) -> String? {
    let wanted = "\(name.text)".lowercased()
    let values = pairs.filter { $0.name.lowercased() == wanted }.map(\.value)
    return values.isEmpty ? nil : values.joined(separator: ", ")
  }
}
