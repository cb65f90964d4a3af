internal import FoundationEssentials

/// The claims of a JSON Web Token, by their names.
struct Claims: Sendable {
  /// A claim's value, as far as something is decided by it.
  private enum Value: Decodable {
    case text(String)
    case number(Double)
    case truth(Bool)
    case texts([String])
    case other

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      // A Boolean is asked for first, as no number is taken for one.
      if let truth = try? container.decode(Bool.self) {
        self = .truth(truth)
      } else if let number = try? container.decode(Double.self) {
        self = .number(number)
      } else if let text = try? container.decode(String.self) {
        self = .text(text)
      } else if let texts = try? container.decode([String].self) {
        self = .texts(texts)
      } else {
        self = .other
      }
    }
  }

  private let values: [String: Value]

  /// Reads a token's payload.
  ///
  /// - Parameter payload: the payload.
  /// - Returns: nil if it is no JSON object.
  init?(parsing payload: [UInt8]) {
    guard let values = try? JSONDecoder().decode([String: Value].self, from: Data(payload)) else {
      return nil
    }
    self.values = values
  }

  /// Returns whether there is a claim, of whatever type.
  func has(_ name: String) -> Bool { values[name] != nil }

  /// A claim that is a text.
  func text(_ name: String) -> String? {
    if case .text(let text)? = values[name] { text } else { nil }
  }

  /// A claim that is a number.
  func number(_ name: String) -> Double? {
    if case .number(let number)? = values[name] { number } else { nil }
  }

  /// A claim that is a text or a list of texts, as `aud`.
  func texts(_ name: String) -> [String] {
    switch values[name] {
    case .text(let text)?: [text]
    case .texts(let texts)?: texts
    default: []
    }
  }

  /// Returns whether a claim is true; some issuers write it as a text.
  func isTrue(_ name: String) -> Bool {
    switch values[name] {
    case .truth(let truth)?: truth
    case .text(let text)?: text == "true"
    default: false
    }
  }
}
