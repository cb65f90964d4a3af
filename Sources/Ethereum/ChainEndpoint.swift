package import Configuration

/// A chain's endpoint for JSON-RPC, from `[chains]`.
package struct ChainEndpoint: Sendable {
  /// The URL, which may hold a secret of the operator's.
  package let url: String
  /// The address of ERC-7738's registry, or nil if it isn't asked.
  package let registry: EthereumAddress?

  /// The address of the registry in use, which is the same on every chain.
  private static let registryInUse = EthereumAddress("0x0077380bCDb2717C9640e892B9d5Ee02Bb5e0682")

  /// Reads all endpoints, which every service may ask.
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
        url = table.secret("url").value
        let written = table.optionalValue("registry", expected: "an address, or \"off\"") {
          $0 == "off" ? EthereumAddress() : EthereumAddress($0)
        }
        if let written { registry = written == EthereumAddress() ? nil : written }
      } else {
        url = section.secret(name).value
      }
      guard let chain = ChainID(name), url.hasPrefix("https://") || url.hasPrefix("http://") else {
        section.reject(name, "expected 1 = \"https://…\", with the chain's number")
        continue
      }
      endpoints[chain] = ChainEndpoint(url: url, registry: registry)
    }
    return endpoints
  }
}
