internal import Cryptography

/// The whole index at one moment, shared by all requests and never changed.
final class ContractIndex: Sendable {
  /// What one schema version has for one contract.
  struct Edition: Sendable {
    /// The version.
    let schema: SchemaVersion
    /// Every file that may be the answer; none where it is gone.
    let candidates: [Candidate]
    /// The answer to a request that names no signer.
    let answer: Answer
  }

  /// What a request for one contract and version is answered with.
  enum Answer: Sendable {
    /// One file.
    case file(PreparedFile)
    /// Several signers' files, for the wallet to choose from.
    case choices(PreparedChoices)
    /// What was served here has been taken back.
    case gone
  }

  /// How often an index was built since the start, this time included.
  let generation: Int
  /// Each contract's versions, the newest first.
  let editions: [EthereumAddress: [Edition]]
  /// The files, in the order of their paths; those that can't be served among them.
  let files: [RepositoryFile]
  /// A row for each contract of each file.
  let rows: [IndexRow]

  /// An index.
  ///
  /// - Parameters:
  ///   - generation: how often an index was built since the start.
  ///   - editions: each contract's versions, the newest first.
  ///   - files: the files.
  ///   - rows: a row for each contract of each file.
  init(
    generation: Int, editions: [EthereumAddress: [Edition]], files: [RepositoryFile],
    rows: [IndexRow]
  ) {
    self.generation = generation
    self.editions = editions
    self.files = files
    self.rows = rows
  }

  /// What a version has for a contract; never another version's.
  ///
  /// - Parameters:
  ///   - contract: the address.
  ///   - schema: the version.
  /// - Returns: nil if nothing is known of it.
  func edition(of contract: EthereumAddress, _ schema: SchemaVersion) -> Edition? {
    editions[contract]?.first { $0.schema == schema }
  }
}

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
}
