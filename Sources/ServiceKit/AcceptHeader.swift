public import HTTPProtocol

/// What the `Accept` field names (RFC 9110 section 12.5.1).
///
/// Only types that are named count: who sends `*/*`, or nothing, has asked for nothing in particular.
public struct AcceptHeader: Sendable, Equatable {
  private var qualities: [String: Double] = [:]

  /// Reads the `Accept` fields of a request.
  ///
  /// - Parameter head: the request; what is malformed in its field is passed over.
  public init(_ head: RequestHead) {
    self.init(head.value(.accept) ?? "")
  }

  /// Reads the value of an `Accept` field.
  ///
  /// - Parameter value: media ranges, separated by commas; what is malformed is passed over.
  public init(_ value: String) {
    for element in value.split(separator: ",") {
      let parts = element.split(separator: ";").map { Self.trimmed($0).lowercased() }
      guard let type = parts.first, !type.isEmpty else { continue }
      let weight = parts.dropFirst().first { $0.hasPrefix("q=") }
      let quality = weight.map { Double($0.dropFirst(2)) ?? 0 } ?? 1
      qualities[type] = max(qualities[type] ?? 0, min(max(quality, 0), 1))
    }
  }

  /// How much a type is wanted, from 0 to 1.
  ///
  /// - Parameter type: the type in lower case, without parameters.
  /// - Returns: its quality; 0 if it isn't named or is refused.
  public func quality(of type: String) -> Double { qualities[type] ?? 0 }

  /// The type that is wanted most; of several alike the first.
  ///
  /// - Parameter types: types in lower case, without parameters.
  /// - Returns: one of them; nil if none is named, or all are refused.
  public func preferred(of types: [String]) -> String? {
    var best: (type: String, quality: Double)?
    for type in types {
      let quality = quality(of: type)
      if quality > best?.quality ?? 0 { best = (type, quality) }
    }
    return best?.type
  }

  private static func trimmed(_ text: Substring) -> Substring {
    var text = text
    while text.first == " " || text.first == "\t" { text.removeFirst() }
    while text.last == " " || text.last == "\t" { text.removeLast() }
    return text
  }
}
