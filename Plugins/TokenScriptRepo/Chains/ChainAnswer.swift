internal import Ethereum
internal import Platform
internal import WalletClient

/// The last answer of a chain about a contract.
struct ChainAnswer: Equatable, Sendable {
  /// An entry of ERC-7738's registry, which anybody may have made.
  struct Entry: Codable, Equatable, Sendable {
    /// The number of the entry's token in decimal digits.
    let token: String
    /// The name that its holder has given.
    let name: String
    /// The URL of its icon, or an empty text.
    let icon: String
    /// The place of the script.
    let place: String
    /// The present holder of the token if the contract's owner of then has made the entry, else nil.
    var holder: String?
  }

  /// The contract's owner (ERC-173), or nil if it has none.
  let owner: EthereumAddress?
  /// The contract's name, or nil if it has none.
  let name: String?
  /// The places of the contract's scripts, by its own answer (ERC-5169).
  let scripts: [String]
  /// The keys that were asked for, with whether they have a role that stands for the contract.
  var roles: [EthereumAddress: Bool]
  /// The places of the contract's scripts, by the registry's answer (ERC-7738), if it knows no entries.
  var registered: [String]
  /// The entries of the registry, in its order.
  var entries: [Entry]
  /// The time of the question.
  var time: Timestamp

  /// Makes an answer. Of a contract's places, which anybody can make, a bounded part is kept.
  init(
    owner: EthereumAddress?, name: String? = nil, scripts: [String],
    roles: [EthereumAddress: Bool] = [:], registered: [String] = [], entries: [Entry] = [],
    time: Timestamp
  ) {
    self.owner = owner
    self.name = name
    self.scripts = Self.bounded(scripts)
    self.roles = roles
    self.registered = Self.bounded(registered)
    self.entries = entries
    self.time = time
  }

  /// Returns whether the answer is the same but for its time; none is the same as one that tells nothing.
  func agrees(with other: ChainAnswer?) -> Bool {
    var other = other ?? ChainAnswer(owner: nil, scripts: [], time: time)
    other.time = time
    return self == other
  }

  /// Returns whether an entry is the contract's: its owner of then has made it, and the present one still holds it.
  func isOwners(_ entry: Entry) -> Bool {
    owner.map { entry.holder == $0.checksummed } ?? false
  }

  /// Returns the proof that a file is the contract's, or nil.
  func proof(of file: TokenScriptFile) -> IssuerProof? {
    let keys = file.signer?.addresses ?? []
    if keys.contains(where: { $0 == owner || roles[$0] == true }) { return .signer }
    let named = scripts.lazy.compactMap { ContentIdentifiers.named(by: $0) }
    return named.contains { file.cids.contains(String($0)) } ? .content : nil
  }

  /// The bytes of places that are kept of a contract.
  private static let sizeLimit = 8192

  static func bounded(_ places: [String]) -> [String] {
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

/// The proof that a file is its contract's own.
enum IssuerProof: Sendable {
  /// The signer, or who has lent it its standing, stands for the contract.
  case signer
  /// The contract names the bytes.
  case content
}
