extension TokenScriptFile {
  /// Returns the steps that an author takes to have a file served, in their order.
  ///
  /// - Parameters:
  ///   - path: the path of the file.
  ///   - rules: the configuration's rules.
  ///   - isForPublishing: whether the file is to be published over HTTP.
  func advice(at path: String, _ rules: RepositoryRules, isForPublishing: Bool) -> [String] {
    var advice: [String] = []
    if warnings.contains(where: { $0.contains("names no network") }) {
      advice.append("add network=\"…\" to every address, with the number of its chain")
    }
    if origins.isEmpty {
      let name = contracts.first?.name ?? "…"
      advice.append(
        "name the contract in origins: <ts:origins><ts:ethereum contract=\"\(name)\"/></ts:origins>"
      )
    }
    if case .failed = validity {
      advice.append("mend what the schema doesn't allow, before signing")
    }
    switch signature {
    case .failed(let refusal) where refusal.reason == "not signed":
      advice.append("sign it: awd repo sign --key KEY '\(path)'")
    case .failed:
      advice.append("take the signature out, and sign it anew: any change breaks a signature")
    case .passed where isForPublishing && signer?.time == nil:
      advice.append(
        "sign it with a signing time, as awd repo sign does, so that it can't come back once it is old"
      )
    case .passed, .unchecked: break
    }
    if rules.trust == .require, case .failed = trust {
      advice.append("sign it with a certificate that leads to a root, or with the deployer's key")
    }
    return advice
  }
}
