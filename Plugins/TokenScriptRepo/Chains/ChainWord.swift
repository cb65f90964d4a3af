internal import Cryptography
internal import Ethereum
internal import Time
internal import TokenScriptReading

/// The last word of a chain about a contract.
struct ChainWord: Equatable, Sendable {
  /// The contract's owner (ERC-173), or nil if it has none.
  let owner: EthereumAddress?
  /// The places of the contract's scripts, by its own word (ERC-5169).
  let scripts: [String]
  /// The places of the contract's scripts, by the registry's word (ERC-7738).
  let registered: [String]
  /// The time of the question.
  let time: Timestamp

  /// Makes a word.
  init(owner: EthereumAddress?, scripts: [String], registered: [String], time: Timestamp) {
    self.owner = owner
    self.scripts = scripts.filter(Self.isURI)
    self.registered = registered.filter(Self.isURI)
    self.time = time
  }

  /// Whether the word is the same but for its time; none is the same as one that tells nothing.
  func agrees(with other: ChainWord?) -> Bool {
    owner == other?.owner && scripts == other?.scripts ?? []
      && registered == other?.registered ?? []
  }

  /// The calls that ask for a word; the registry's is the last, if there is one.
  static func calls(
    for contract: EthereumAddress, registry: EthereumAddress?
  ) -> [(contract: EthereumAddress, call: FunctionCall)] {
    [(contract, .owner), (contract, .scriptURI)]
      + (registry.map { [($0, .scriptURI(of: contract))] } ?? [])
  }

  /// Reads the outcomes of ``calls(for:registry:)``.
  ///
  /// - Returns: nil if the endpoint has failed with any of them, so that the last word stays.
  init?(_ outcomes: [CallBatch.Outcome], time: Timestamp) {
    var data: [ReturnData?] = []
    for outcome in outcomes {
      switch outcome {
      case .returned(let returned): data.append(returned)
      case .none: data.append(nil)
      case .failed: return nil
      }
    }
    guard data.count >= 2 else { return nil }
    self.init(
      owner: data[0]?.address, scripts: data[1]?.strings ?? [],
      registered: data.count > 2 ? data[2]?.strings ?? [] : [], time: time)
  }

  /// Returns whether a text can be the place of a script: visible ASCII with a scheme.
  private static func isURI(_ text: String) -> Bool {
    text.contains(":") && text.utf8.allSatisfy { (0x21..<0x7f).contains($0) }
  }
}

/// The last words of all chains; an immutable snapshot.
final class ChainWords: Sendable {
  /// The words by contract.
  let byOrigin: [Origin: ChainWord]

  /// Makes a snapshot.
  init(_ byOrigin: [Origin: ChainWord] = [:]) { self.byOrigin = byOrigin }

  /// The owners of the contracts that have one.
  var owners: [Origin: EthereumAddress] { byOrigin.compactMapValues(\.owner) }
}
