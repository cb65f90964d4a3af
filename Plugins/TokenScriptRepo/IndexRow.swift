internal import Cryptography

/// One line of the table that people and programs are shown.
struct IndexRow: Sendable, Equatable {
  /// What has become of a file, for one contract.
  enum State: Sendable, Equatable {
    case served
    /// Another file is served in its place.
    case shadowed(by: RepositoryPath)
    /// It failed a required check, or is no TokenScript.
    case refused(Refusal)
    /// It is a TokenScript that describes no contract's tokens.
    case servesNothing
    /// It marks what it once served as gone.
    case gone

    /// The state without its reason.
    var summary: Summary {
      switch self {
      case .served: .served
      case .shadowed: .shadowed
      case .refused: .refused
      case .servesNothing: .nothing
      case .gone: .gone
      }
    }

    /// The state in words.
    var words: String {
      switch self {
      case .served: "served"
      case .shadowed(let path): "shadowed by \(path)"
      case .refused(let refusal): "refused because \(refusal.reason)"
      case .servesNothing: "serves nothing: it names no contract as its origin"
      case .gone: "gone"
      }
    }
  }

  /// A state without its reason.
  enum Summary: String, Sendable, CaseIterable {
    case served, shadowed, refused, nothing, gone

    /// The state in words.
    var words: String { self == .nothing ? "with nothing to serve" : rawValue }
  }

  /// The contract; nil for a file that names none as its origin, or could not be read.
  var contract: EthereumAddress?
  /// What the file calls the contract.
  var name: String?
  /// The chains that the file names it on.
  var networks: [UInt64] = []
  /// The schema version.
  var schema: SchemaVersion?
  /// The signing time, in seconds since 1970.
  var time: Int64?
  /// Whose signature it bears.
  var signer: TokenScriptFile.Signer?
  /// The file's path.
  let path: RepositoryPath
  /// The SHA-256 of its bytes.
  var digest: [UInt8]?
  /// How many bytes it has.
  var size = 0
  /// What has become of it.
  var state: State
  /// What is odd about it.
  var warnings: [String] = []

  /// Whether each word stands somewhere in the contract, the name, the signer, the path or the state.
  ///
  /// - Parameter words: in lowercase.
  func contains(_ words: [Substring]) -> Bool {
    let parts = [
      contract?.lowercase, name, signer?.commonName, signer?.key, path.text, state.words,
    ]
    let text = parts.compactMap(\.self).joined(separator: "\n").lowercased()
    return words.allSatisfy { text.contains($0) }
  }
}
