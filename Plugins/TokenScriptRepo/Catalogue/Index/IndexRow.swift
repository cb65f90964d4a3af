internal import Cryptography
internal import Ethereum
internal import Glibc
internal import Platform

/// One row of the index: a file and one of its contracts.
struct IndexRow: Sendable, Equatable {
  /// The state of a file for one contract.
  enum State: Sendable, Equatable {
    case served
    /// Another file is served instead.
    case shadowed(by: RepositoryPath)
    /// The file failed a required check, or is no TokenScript.
    case refused(FileRefusal)
    /// The file is a TokenScript without an origin contract.
    case servesNothing
    /// The file is a mark that withdraws its contracts.
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

  /// The contract, or nil for a file without an origin contract or without a meaning.
  var contract: EthereumAddress?
  /// The contract's name in the file.
  var name: String?
  /// The chains that the file is served for the contract on, in the order of their numbers.
  var chains: [ChainID] = []
  /// The contract's owners by the chains' answers, in the chains' order.
  var owners: [EthereumAddress] = []
  /// The contract's name, from the first of its chains that has answered with one.
  var contractName: String?
  /// The names by which IPFS knows the file.
  var cids: [String] = []
  /// The schema version.
  var schema: SchemaVersion?
  /// The signing time.
  var time: Timestamp?
  /// The time at which the file was accepted, if it was published without a signing time.
  var accepted: Timestamp?
  /// True if the file was published over HTTP.
  var isPublished = false
  /// The file's signer.
  var signer: TokenScriptFile.Signer?
  /// The proof of the signer.
  var standing: TrustLevel?
  /// The file's path.
  let path: RepositoryPath
  /// The SHA-256 of the file's bytes.
  var digest: SHA256.Digest?
  /// The number of the file's bytes.
  var size = 0
  /// The state of the file for the contract.
  var state: State
  /// The oddities of the file.
  var warnings: [String] = []

  /// The contract, the name, the signer, the path and the state in lower case, which searches look at.
  var searchText: String {
    let parts = [
      contract?.lowercase, name, signer?.commonName, signer?.key, signer?.authority, path.text,
      state.words,
    ]
    return parts.compactMap(\.self).joined(separator: "\n").lowercased()
  }
}

extension IndexRow: Encodable {
  /// The contract's owners, each once.
  var ownerNames: [String] { Set(owners.map(\.checksummed)).sorted() }

  /// The row as programs get it.
  private var json: JSONObject {
    // The chains are there by the name of the element's attribute too.
    let chains = chains.map(\.number)
    return [
      "contract": contract?.checksummed, "name": name, "contractName": contractName,
      "networks": chains, "chains": chains, "owners": ownerNames, "schema": schema?.path,
      "time": time?.description, "accepted": accepted?.description, "signer": signer?.name,
      "key": signer?.key, "authority": signer?.authority, "kind": signer?.kind,
      "standing": standing?.rawValue, "path": path.text, "sha256": digest?.hex, "cids": cids,
      "size": size, "state": state.words, "warnings": warnings,
    ]
  }

  func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}

/// The rows of an index in the order of the page, with their texts side by side, so that a search converts nothing.
final class IndexSearch: Sendable {
  /// The numbers of the rows, the refused ones first.
  let order: [Int]
  /// The texts in that order, each with a zero byte behind it.
  private let texts: [CChar]
  private let offsets: [Int]

  /// Folds the rows of an index.
  init(_ rows: [IndexRow]) {
    let isRefused = rows.map { $0.state.summary == .refused }
    order = rows.indices.filter { isRefused[$0] } + rows.indices.filter { !isRefused[$0] }
    var texts: [CChar] = []
    offsets = order.map { number in
      defer {
        texts += rows[number].searchText.utf8.lazy.filter { $0 != 0 }.map { CChar(bitPattern: $0) }
        texts.append(0)
      }
      return texts.count
    }
    self.texts = texts
  }

  /// Returns the numbers of the rows whose texts contain each of some words.
  func rows(with words: [String]) -> [Int] {
    guard !words.isEmpty else { return order }
    return unsafe texts.withUnsafeBufferPointer { texts in
      zip(order, offsets).compactMap { number, offset in
        guard let start = unsafe texts.baseAddress.map({ unsafe $0 + offset }) else { return nil }
        return words.allSatisfy { unsafe strstr(start, $0) != nil } ? number : nil
      }
    }
  }
}
