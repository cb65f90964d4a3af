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
    self.scripts = Self.bounded(scripts)
    self.registered = Self.bounded(registered)
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
  /// If the endpoint failed to tell the places, they stay as they were.
  ///
  /// - Parameters:
  ///   - outcomes: an outcome for each call.
  ///   - last: the last word, if there is one.
  ///   - time: the time of the question.
  /// - Returns: nil if the endpoint has failed to tell the owner, so that the last word stays, with its age.
  init?(_ outcomes: [CallBatch.Outcome], after last: ChainWord?, time: Timestamp) {
    func read<Part>(_ index: Int, _ old: Part?, _ part: (ReturnData?) -> Part) -> Part? {
      guard index < outcomes.count else { return part(nil) }
      return switch outcomes[index] {
      case .returned(let data): part(data)
      case .none: part(nil)
      case .failed: old
      }
    }
    guard outcomes.count >= 2, let owner = read(0, nil, { $0?.address }) else {
      return nil
    }
    self.init(
      owner: owner, scripts: read(1, last?.scripts) { $0?.strings ?? [] } ?? [],
      registered: read(2, last?.registered) { $0?.strings ?? [] } ?? [], time: time)
  }

  /// The bytes of places that are kept of a contract, which anybody can make.
  private static let sizeLimit = 8192

  private static func bounded(_ places: [String]) -> [String] {
    var rest = sizeLimit
    return places.filter { place in
      guard isURI(place), place.utf8.count <= rest else { return false }
      rest -= place.utf8.count
      return true
    }
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
