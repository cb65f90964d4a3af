package import Ethereum
internal import HTTPProtocol
internal import Formats

/// A place of a file in a repository: what a URL of one of its files names.
package struct TokenScriptLocation: Sendable, Equatable {
  /// The version, or nil if the URL leaves it to the repository.
  package private(set) var namespace: TokenScriptNamespace?
  /// The chain, or nil if the URL names none.
  package private(set) var chain: ChainID?
  /// The contract.
  package let contract: EthereumAddress
  /// The signer, or nil for anybody.
  package let signer: String?

  /// Reads a URL: `[/<YYYY>/<MM>][/chain/<id>]/<address>[.tsml][?chain=<id>&signer=<name>]`.
  ///
  /// - Parameters:
  ///   - text: the URL, without a fragment.
  ///   - repository: the repository's URL, without a slash at its end.
  /// - Returns: nil for anything else, such as the URL of another repository.
  package init?(_ text: String, at repository: String) {
    guard let url = WebURL(text, schemes: ["http", "https"]) else { return nil }
    let port = url.port.map { ":\($0)" } ?? ""
    let whole = "\(url.scheme)://\(url.host)\(port)\(url.path)"
    guard whole.hasPrefix("\(repository)/") else { return nil }
    let path = whole.dropFirst(repository.count + 1)
    let pattern = /(?:([0-9]{4}\/[0-9]{2})\/)?(?:chain\/([^\/]*)\/)?([^\/]+?)(?:\.tsml)?/
    guard let parts = path.wholeMatch(of: pattern)?.output,
      let contract = EthereumAddress(String(parts.3)),
      let form = URLEncodedForm(Array((url.query ?? "").utf8)[...]),
      form.pairs.allSatisfy({ ["chain", "signer"].contains($0.name) }),
      form.pairs.count == Set(form.pairs.map(\.name)).count
    else { return nil }
    namespace = parts.1.flatMap { TokenScriptNamespace($0) }
    guard namespace != nil || parts.1 == nil else { return nil }
    var chains = [parts.2].compactMap(\.self).map { ChainID($0) }
    chains += form.pairs.filter { $0.name == "chain" }.map { ChainID($0.value) }
    guard Set(chains).count <= 1, !chains.contains(nil) else { return nil }
    self.contract = contract
    chain = chains.first ?? nil
    signer = form["signer"].flatMap { $0.isEmpty ? nil : $0 }
  }
}
