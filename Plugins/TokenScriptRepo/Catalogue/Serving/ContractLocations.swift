internal import Ethereum

/// The places of a contract's TokenScripts on a chain.
struct ContractLocations {
  /// A file of this repository.
  struct File {
    /// The URL, which gives nothing but this file until the signer publishes another.
    let url: String
    /// The version.
    let schema: SchemaVersion
    /// The file.
    let candidate: Candidate
    /// True if the file is the contract's own.
    let isIssuers: Bool
  }

  /// The files, by version in the editions' order, of each the issuer's first, and then the newest.
  let files: [File]
  /// The contract and the chain.
  let origin: Origin
  private let answer: ChainAnswer?

  /// Finds the places for a contract on a chain.
  ///
  /// - Parameters:
  ///   - origin: the contract and the chain, which the URLs name if the contract has several.
  ///   - base: the server's URL without a slash at its end.
  init(of origin: Origin, in editions: [Edition], base: String, by rules: RepositoryRules) {
    self.origin = origin
    answer = rules.answers[origin]
    let isAmbiguous = Set(editions.flatMap { $0.chains.map(\.chain) }).count > 1
    let segment = isAmbiguous ? "chain/\(origin.chain)/" : ""
    files = editions.flatMap { edition in
      let chosen = edition.chains.first { $0.chain == origin.chain }?.chosen ?? []
      let files = chosen.map { candidate in
        let key = chosen.count > 1 ? candidate.signer?.key : nil
        return File(
          url: "\(base)/\(edition.schema)/\(segment)\(origin.contract.checksummed)"
            + (key.map { "?signer=\($0)" } ?? ""),
          schema: edition.schema, candidate: candidate,
          isIssuers: rules.standing(of: candidate.meaning, for: origin.contract) == .issuer)
      }
      return files.filter(\.isIssuers) + files.filter { !$0.isIssuers }
    }
  }

  // MARK: script-uri

  /// The contract's own URIs by its chain's last answer, and the URLs at this repository, by the names of ERC-5169.
  var scriptURI: [String: [String: [String]]] {
    ["scriptURI": ["erc5169": answer?.scripts ?? [], "offchain": files.map(\.url)]]
  }

  // MARK: script-info

  private static let scriptLimit = 64
  private static let ownLimit = 8

  /// The scripts, as the engine and the viewer read them, which open the first without a choice: the contract's own URIs,
  /// its issuer's files and entries of the registry, and then strangers'.
  var scripts: [JSONObject] {
    let issuers = files.filter(\.isIssuers)
    let others = files.filter { !$0.isIssuers }
    let best = (issuers + others).first.flatMap { $0.candidate.name(for: origin.contract) }
    let own = (answer?.scripts ?? []).filter { $0.openable != nil }.prefix(Self.ownLimit)
    let entries = answer?.entries ?? []
    var scripts = own.enumerated().map { index, place in
      script(
        answer?.name ?? best, at: place, index == 0 ? "" : "5169_\(index)", isAuthenticated: true)
    }
    scripts += issuers.map(script)
    scripts += entries.filter { answer?.isOwners($0) == true }.map(script)
    scripts += others.map(script)
    scripts += entries.filter { answer?.isOwners($0) != true }.map(script)
    return scripts.prefix(Self.scriptLimit).enumerated().map { index, script in
      var script = script
      script.values["order"] = index
      return script
    }
  }

  private func script(_ file: File) -> JSONObject {
    let meaning = file.candidate.meaning
    let version = file.schema.path.replacing("/", with: "")
    return script(
      file.candidate.name(for: origin.contract), icon: meaning.icon, at: file.url,
      "awd_\(version)_\(meaning.signer?.key ?? "unsigned")", isAuthenticated: file.isIssuers)
  }

  private func script(_ entry: ChainAnswer.Entry) -> JSONObject {
    script(
      entry.name, icon: entry.icon, at: entry.place, "7738_\(entry.token)",
      isAuthenticated: answer?.isOwners(entry) == true, type: "registry")
  }

  private func script(
    _ name: String?, icon: String? = nil, at place: String, _ identifier: String,
    isAuthenticated: Bool, type: String = "scriptUri"
  ) -> JSONObject {
    let name = name?.shown(limit: 128) ?? ""
    return [
      "name": name.isEmpty ? "TokenScript" : name, "icon": icon ?? "",
      "authenticated": isAuthenticated,
      "sourceId": "\(origin.chain)-\(origin.contract.checksummed)", "sourceUrl": place,
      "scriptId": identifier, "type": type,
    ]
  }
}

extension Candidate {
  /// The name of the file: its label, or else its root's name, or else its name for a contract.
  fileprivate func name(for contract: EthereumAddress) -> String? {
    meaning.labels.first ?? meaning.title
      ?? meaning.contracts.first { $0.isOrigin && $0.address == contract }?.name
  }
}
