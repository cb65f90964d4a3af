package import Configuration

/// The number of an Ethereum chain (EIP-155), from 1 to 2^63 − 1.
public struct ChainID: Hashable, Sendable {
  /// The number.
  public let number: Int64

  /// Ethereum's main network.
  public static let main = ChainID(unchecked: 1)

  private init(unchecked number: Int64) { self.number = number }

  /// Makes a chain's number, or returns nil for a number below 1.
  public init?(_ number: Int64) {
    guard number >= 1 else { return nil }
    self.number = number
  }

  /// Reads decimal digits without a sign or a leading zero, or returns nil for other text.
  public init?(_ text: some StringProtocol) { self.init(utf8: text.utf8) }

  /// Reads decimal digits without a sign or a leading zero, or returns nil for other text.
  public init?(utf8 text: some Collection<UInt8>) {
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    guard text.first != digits.lowerBound, text.allSatisfy(digits.contains),
      let number = Int64(String(decoding: text, as: UTF8.self))
    else { return nil }
    self.number = number
  }
}

extension ChainID {
  /// Reads the lexical form of XML Schema's integer, as a TokenScript names its chain: blanks at both ends, a sign `+` and
  /// leading zeros mean nothing. Returns nil for any other text, and for a number below 1.
  public init?(xmlInteger text: some StringProtocol) {
    let isBlank: (UInt8) -> Bool = { [0x20, 0x09, 0x0d, 0x0a].contains($0) }
    var digits = Array(text.utf8).drop(while: isBlank)
    while let last = digits.last, isBlank(last) { digits.removeLast() }
    if digits.first == UInt8(ascii: "+") { digits.removeFirst() }
    let significant = digits.drop { $0 == UInt8(ascii: "0") }
    self.init(utf8: significant)
  }
}

extension ChainID: Comparable {
  /// Orders chains by their numbers.
  public static func < (left: ChainID, right: ChainID) -> Bool { left.number < right.number }
}

extension ChainID: CustomStringConvertible {
  /// The decimal digits.
  public var description: String { "\(number)" }
}

/// The name of a chain, and a page that shows its contracts.
public struct KnownChain: Sendable {
  /// The name for people.
  public let name: String
  /// The URL of a page about a contract, with `{address}` in its place; nil for a chain that has ended.
  public let explorer: String?

  private init(_ name: String, _ host: String? = nil) {
    self.name = name
    explorer = host.map { "https://\($0)/address/{address}" }
  }

  /// Returns the known facts about a chain, or nil.
  public static func of(_ chain: ChainID) -> KnownChain? { all[chain.number] }

  private static let all: [Int64: KnownChain] = [
    1: KnownChain("Ethereum", "etherscan.io"),
    3: KnownChain("Ropsten"),
    4: KnownChain("Rinkeby"),
    5: KnownChain("Goerli"),
    10: KnownChain("Optimism", "optimistic.etherscan.io"),
    42: KnownChain("Kovan"),
    56: KnownChain("BNB Smart Chain", "bscscan.com"),
    100: KnownChain("Gnosis", "gnosisscan.io"),
    137: KnownChain("Polygon", "polygonscan.com"),
    1001: KnownChain("Kaia Kairos", "kairos.kaiascan.io"),
    8217: KnownChain("Kaia", "kaiascan.io"),
    8453: KnownChain("Base", "basescan.org"),
    17000: KnownChain("Holesky", "holesky.etherscan.io"),
    42161: KnownChain("Arbitrum One", "arbiscan.io"),
    43114: KnownChain("Avalanche", "snowtrace.io"),
    59144: KnownChain("Linea", "lineascan.build"),
    80002: KnownChain("Polygon Amoy", "amoy.polygonscan.com"),
    84532: KnownChain("Base Sepolia", "sepolia.basescan.org"),
    421_614: KnownChain("Arbitrum Sepolia", "sepolia.arbiscan.io"),
    11_155_111: KnownChain("Sepolia", "sepolia.etherscan.io"),
    11_155_420: KnownChain("Optimism Sepolia", "sepolia-optimism.etherscan.io"),
  ]
}

extension ChainID {
  /// The chain's name and number for people, such as `Ethereum (1)` or `chain 4242`.
  public var title: String { KnownChain.of(self).map { "\($0.name) (\(self))" } ?? "chain \(self)" }
}

/// A chain's endpoint for JSON-RPC, from `[chains]`.
package struct ChainEndpoint: Sendable {
  /// The URL, which may hold a secret of the operator's.
  package let url: String
  /// The address of ERC-7738's registry, or nil if it isn't queried.
  package let registry: EthereumAddress?

  /// The address of the registry in use, which is the same on every chain.
  private static let registryInUse = EthereumAddress("0x0077380bCDb2717C9640e892B9d5Ee02Bb5e0682")

  /// Reads all endpoints, which every service may query.
  package static func all(for section: ConfigurationSection) -> [ChainID: ChainEndpoint] {
    all(in: section.beside("chains"))
  }

  /// Reads the endpoints of a table: `1 = "https://…"` or `1 = { url = "https://…", registry = "0x…" }`.
  package static func all(in section: ConfigurationSection) -> [ChainID: ChainEndpoint] {
    var endpoints: [ChainID: ChainEndpoint] = [:]
    for name in section.names {
      let url: String
      var registry = registryInUse
      if section.isTable(name) {
        let table = section.section(name)
        url = table.secret("url", expected: #"url = "https://…""#, where: isURL).value
        if !table.names.contains("url") {
          section.reject(name, #"expected a table with url = "https://…""#)
        }
        let written = table.optionalValue("registry", expected: "an address, or \"off\"") {
          $0 == "off" ? EthereumAddress() : EthereumAddress($0)
        }
        if let written { registry = written == EthereumAddress() ? nil : written }
      } else {
        url = section.secret(name, expected: form, where: isURL).value
      }
      // What has no URL is refused already.
      guard !url.isEmpty else { continue }
      guard let chain = ChainID(name) else {
        section.reject(name, "expected \(form)")
        continue
      }
      endpoints[chain] = ChainEndpoint(url: url, registry: registry)
    }
    return endpoints
  }

  private static let form = #"1 = "https://…", with the chain's number"#

  private static func isURL(_ text: String) -> Bool {
    text.hasPrefix("https://") || text.hasPrefix("http://")
  }
}
