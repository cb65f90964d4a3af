internal import Formats

/// The claims of a JSON Web Token, by their names.
struct Claims: Sendable {
  private let values: [String: JSONObjectReader.Value]

  /// Reads a token's payload.
  ///
  /// - Parameter payload: the payload.
  /// - Returns: nil if it is no JSON object.
  init?(parsing payload: [UInt8]) {
    guard let members = JSONObjectReader.members(of: payload) else { return nil }
    values = Dictionary(members.map { ($0.name, $0.value) }) { $1 }
  }

  /// Returns whether there is a claim, of whatever type.
  func has(_ name: String) -> Bool { values[name] != nil }

  /// A claim that is a text.
  func text(_ name: String) -> String? {
    if case .text(let text)? = values[name] { text } else { nil }
  }

  /// A claim that is a number.
  func number(_ name: String) -> Double? {
    switch values[name] {
    case .integer(let number)?: Double(number)
    case .fraction(let number)?: number
    default: nil
    }
  }

  /// A claim that is a text or a list of texts, as `aud`.
  func texts(_ name: String) -> [String] {
    switch values[name] {
    case .text(let text)?: [text]
    case .list(let texts)?: texts
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
