internal import Configuration
internal import Cryptography

/// The section `[tokenscript]`.
struct TokenScriptConfiguration: Sendable {
  /// The repository's root.
  let repository: String
  /// Whether somebody named the root; else it is below the data folder, and starts as a demo.
  let isRepositoryConfigured: Bool
  /// The folder of schemas; empty: none.
  let schemas: String
  /// The PEM file of roots; nil: the system's.
  let roots: String?
  /// What becomes of findings, and of several files.
  let rules: RepositoryRules
  /// The version that a bare address means where the client tells nothing.
  let defaultSchema: SchemaVersion?
  /// Whether the verification service passes signers without a trusted chain.
  let verifiesUntrusted: Bool
  /// Which versions the known wallets read.
  let clients: [ClientRule]

  /// All that the version depends on which a bare address is answered with, besides which there are.
  var versionChoice: String { "\(defaultSchema?.path ?? "") \(clients)" }

  /// Reads the section; what is wrong with it is recorded there.
  ///
  /// - Parameter section: the section.
  init(_ section: ConfigurationSection) {
    repository = section.path("repository", default: "\(section.dataFolder)/repository")
    isRepositoryConfigured = section.isGiven("repository")
    schemas = section.path("schemas", default: "")
    let roots = section.path("roots", default: "")
    self.roots = roots.isEmpty ? nil : roots
    var rules = RepositoryRules()
    rules.signature = section.choice("signature", default: .require)
    rules.schema = section.choice("schema", default: .warn)
    rules.trust = section.choice("trust", default: .warn)
    rules.choice = section.choice("choice", default: .ask)
    rules.modified = section.choice("modified", default: .signed)
    if rules.trust == .require, rules.signature == .off {
      section.reject("trust", "expected \"off\" or \"warn\", since signature is \"off\"")
    }
    if rules.schema == .require, schemas.isEmpty {
      section.reject("schema", "expected \"off\" or \"warn\", since no schemas are given")
    }
    if schemas.isEmpty { rules.schema = .off }
    for (contract, key) in section.dictionary("deployers") {
      guard let contract = EthereumAddress(contract), let key = EthereumAddress(key) else {
        section.reject("deployers", "expected addresses, \"0xcontract\" = \"0xkey\"")
        continue
      }
      rules.deployers[contract] = key
    }
    self.rules = rules
    defaultSchema = section.optionalValue(
      "default_namespace", expected: "a schema version such as \"2019/05\""
    ) { SchemaVersion($0) }
    verifiesUntrusted = section.bool("verify_untrusted", default: false)
    clients = section.tables("clients").map { ClientRule($0) }
  }
}
