internal import Ethereum
package import Configuration
internal import Glibc
internal import ServiceKit

/// The section `[tokenscript]`.
package struct TokenScriptConfiguration: ServiceConfiguration {
  /// The path of the repository's root.
  let repository: String
  /// True if the configuration names the root; otherwise it is below the data folder, and starts as a demo.
  let isRepositoryConfigured: Bool
  /// True if the root lies below the data folder, where the service makes it if it isn't there.
  let isRepositoryInData: Bool
  /// The path of the folder of schemas, or an empty string.
  let schemas: String
  /// The path of the folder of schemas that are used by default, if it is there.
  let fetchedSchemas: String
  /// The path of a PEM file of roots, or nil for the system's roots.
  let roots: String?
  /// The rules for findings, and for several files of one contract.
  let rules: RepositoryRules
  /// The version at a bare address for clients that are not known.
  let defaultSchema: SchemaVersion?
  /// The CPU time for the check of one file against its schema.
  let schemaCPUTime: Duration
  /// The path of the program that checks files against schemas in processes of its own: this one, even if its file was
  /// replaced meanwhile. With nil they are checked in this process.
  var schemaProgram: String? = "/proc/self/exe"
  /// True if the verification service passes signers without a trusted chain.
  let verifiesUntrusted: Bool
  /// The policy of publishing over HTTP.
  let publicationPolicy: PublicationPolicy
  /// The policy of previews.
  let previewPolicy: PreviewPolicy
  /// The endpoints of chains, from `[chains]` and `[tokenscript.chains]`.
  let chains: [ChainID: ChainEndpoint]
  /// The pages about contracts elsewhere, with `{address}` in them, by chain.
  let explorers: [ChainID: String]
  /// The versions that known wallets read.
  let clients: [ClientRule]
  /// How many users one address stands for: its limits are multiplied by it.
  let usersPerAddress: Int

  /// A text of everything that decides about a bare address's version besides the existing versions.
  var versionChoice: String { "\(defaultSchema?.path ?? "") \(clients)" }

  /// Reads the section, and records its faults there.
  package init(_ section: ConfigurationSection) {
    repository = section.path("repository", default: "\(section.dataFolder)/repository")
    isRepositoryConfigured = section.isGiven("repository")
    isRepositoryInData = repository.hasPrefix("\(section.dataFolder)/")
    fetchedSchemas = "\(section.dataFolder)/schemas"
    let hasFetched = unsafe access(fetchedSchemas, R_OK | X_OK) == 0
    schemas = section.path("schemas", default: hasFetched ? fetchedSchemas : "")
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
    schemaCPUTime = section.duration(
      "schema_cpu_time", default: .seconds(2), in: .milliseconds(100) ... .seconds(60))
    verifiesUntrusted = section.bool("verify_untrusted", default: false)
    publicationPolicy = section.section("publish").choice("policy", default: .off)
    previewPolicy = section.section("preview").choice("policy", default: .off)
    let own = section.section("chains")
    chains = ChainEndpoint.all(for: section).merging(ChainEndpoint.all(in: own)) { shared, _ in
      shared
    }
    for name in Set(own.names).intersection(section.beside("chains").names) {
      own.reject(name, "expected each chain once; [chains] has it too, for all services")
    }
    var explorers: [ChainID: String] = [:]
    for (chain, url) in section.dictionary("explorers") {
      guard let chain = ChainID(chain), url.hasPrefix("https://"), url.contains("{address}") else {
        section.reject("explorers", "expected 1 = \"https://…/{address}\", with the chain's number")
        continue
      }
      explorers[chain] = url
    }
    self.explorers = explorers
    clients = section.tables("clients").map { ClientRule($0) }
    usersPerAddress = section.usersPerAddress
  }
}
