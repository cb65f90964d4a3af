/// An object in JSON, which has each of its keys, with null for a missing value.
struct JSONObject: Encodable, Sendable, ExpressibleByDictionaryLiteral {
  /// The values by their keys.
  var values: [String: (any Encodable & Sendable)?]

  /// The object without the keys of missing values.
  var withoutNulls: JSONObject {
    var object = self
    object.values = values.filter { $0.value != nil }
    return object
  }

  private struct Name: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  /// Makes an object of a literal.
  init(dictionaryLiteral elements: (String, (any Encodable & Sendable)?)...) {
    values = Dictionary(elements) { $1 }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Name.self)
    for (name, value) in values {
      guard let value else {
        try container.encodeNil(forKey: Name(stringValue: name))
        continue
      }
      try container.encode(value, forKey: Name(stringValue: name))
    }
  }
}
