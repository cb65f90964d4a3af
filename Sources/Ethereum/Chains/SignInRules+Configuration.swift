package import Configuration

extension SignInRules {
  /// Reads a service's section `siwe`, and records its faults.
  ///
  /// - Parameters:
  ///   - section: the section.
  ///   - path: the service's path below the public URL.
  ///   - isUsed: whether domain and URI must be there.
  package init(_ section: ConfigurationSection, path: String, isUsed: Bool) {
    let url = section.publicURL
    self.init(
      domain: section.string("domain", default: url?.authority ?? ""),
      uri: section.string("uri", default: url.map { "\($0)\(path)" } ?? ""),
      chains: section.integers("chains", default: [1], in: 1...Int.max).compactMap {
        ChainID(Int64($0))
      },
      maxAge: section.duration(
        "max_age", default: .seconds(600), in: .seconds(1) ... .seconds(86_400)))
    guard isUsed else { return }
    for (name, value) in [("domain", domain), ("uri", uri)] where value.isEmpty {
      section.reject(name, "expected the \(name) that wallets show, or server.public_url")
    }
    if chains.isEmpty { section.reject("chains", "expected at least one chain") }
  }
}
