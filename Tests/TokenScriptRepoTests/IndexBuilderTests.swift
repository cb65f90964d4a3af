internal import Cryptography
internal import Ethereum
internal import HTTPProtocol
internal import TestSupport
internal import Testing
internal import Platform
internal import Formats

@testable import TokenScriptRepo

@Suite(.ownThreads) struct IndexBuilderTests {
  private static let now = Timestamp(seconds: 1_700_000_000)
  private let schema: SchemaVersion
  private let contract: EthereumAddress
  private let kovan: ChainID

  init() throws {
    kovan = try #require(ChainID(42))
    schema = try #require(SchemaVersion("2019/05"))
    contract = try #require(EthereumAddress(alice))
  }

  /// Makes a file with a text as its bytes.
  private func file(
    _ path: String, _ content: String, signer: TokenScriptFile.Signer? = nil, trusted: Bool = false,
    modified: Int64 = 1_600_000_000, origins: Bool = true
  ) -> RepositoryFile {
    var meaning = TokenScriptFile(schema: schema, root: "token")
    meaning.contracts = [
      .init(address: contract, name: "Coin", chain: .main, isOrigin: origins),
      .init(address: contract, name: "Coin", chain: kovan, isOrigin: origins),
    ]
    meaning.signer = signer
    meaning.signature = .passed
    if trusted { meaning.trust = .passed }
    let bytes = Array(content.utf8)
    return RepositoryFile(
      path: RepositoryPath(path), digest: SHA256.hash(bytes),
      content: FileContent(Bytes(bytes), digest: SHA256.hash(bytes)),
      size: bytes.count, modified: Timestamp(seconds: modified), reading: .success(meaning))
  }

  private func signer(
    _ key: String, _ name: String? = nil, at time: Int64? = nil
  ) -> TokenScriptFile.Signer {
    TokenScriptFile.Signer(
      commonName: name, key: key, kind: "P-256", time: time.map { Timestamp(seconds: $0) })
  }

  private func states(
    _ files: [RepositoryFile], choice: RepositoryRules.Choice = .ask,
    sightings: [IndexBuilder.Sighting: Timestamp] = [:]
  ) -> [String: String] {
    var rules = RepositoryRules()
    rules.choice = choice
    var builder = IndexBuilder(
      rules: rules, headers: ResponseHeaders(dependsOnClient: false), now: Self.now,
      sightings: sightings)
    let index = builder.build(files.sorted { $0.path < $1.path }, generation: 1)
    return Dictionary(
      index.rows.map { ($0.path.text, $0.state.words) }, uniquingKeysWith: { first, _ in first })
  }

  @Test func identicalBytesAreOneFile() {
    #expect(
      states([file("b", "x", signer: signer("1")), file("a", "x", signer: signer("1"))])
        == ["a": "served", "b": "shadowed by a"])
  }

  @Test func oneKeyIsOneSignerWhateverItsName() {
    #expect(
      states([
        file("a", "1", signer: signer("1", "x", at: 10)),
        file("b", "2", signer: signer("1", "y", at: 20)),
      ]) == ["a": "shadowed by b", "b": "served"])
  }

  @Test(arguments: [true, false])
  func oneNameIsOneSignerOnlyWhereBothChainsHold(bothTrusted: Bool) {
    let states = states([
      file("a", "1", signer: signer("1", "shop", at: 10), trusted: true),
      file("b", "2", signer: signer("2", "Shop", at: 20), trusted: bothTrusted),
    ])
    #expect(states == ["a": bothTrusted ? "shadowed by b" : "served", "b": "served"])
  }

  @Test func aKeyAndANameTieThreeFilesTogether() {
    #expect(
      states([
        file("a", "1", signer: signer("1", "shop", at: 10), trusted: true),
        file("b", "2", signer: signer("2", "shop", at: 20), trusted: true),
        file("c", "3", signer: signer("2", "other", at: 30)),
      ]) == ["a": "shadowed by c", "b": "shadowed by c", "c": "served"])
  }

  @Test func atTheSameTimeTheLaterSeenIsNewerThenTheFirstPath() {
    #expect(
      states([
        file("a", "1", signer: signer("1", at: 10), modified: 100),
        file("b", "2", signer: signer("1", at: 10), modified: 200),
        file("c", "3", signer: signer("1", at: 10), modified: 200),
      ]) == ["a": "shadowed by b", "b": "served", "c": "shadowed by b"])
  }

  @Test func severalSignersAreAllServedOrOnlyTheNewest() {
    let files = [
      file("a", "1", signer: signer("1", at: 10)), file("b", "2", signer: signer("2", at: 20)),
    ]
    #expect(states(files) == ["a": "served", "b": "served"])
    #expect(states(files, choice: .newest) == ["a": "shadowed by b", "b": "served"])
    #expect(states(files, choice: .issuer) == ["a": "served", "b": "served"])
  }

  @Test func whatNobodySignedIsNoChoiceBesideWhatIs() {
    #expect(
      states([file("a", "1", signer: signer("1", at: 10)), file("b", "2")])
        == ["a": "served", "b": "shadowed by a"])
  }

  @Test func rowsTellWhatAFileSays() throws {
    var builder = IndexBuilder(
      rules: RepositoryRules(), headers: ResponseHeaders(dependsOnClient: false), now: Self.now,
      sightings: [:])
    let index = builder.build(
      [
        file("a", "1", signer: signer("1", "x", at: Self.now.seconds + 5)),
        RepositoryFile(
          path: RepositoryPath("b"), reading: .failure(FileRefusal(reason: "no", detail: "secret"))),
        file("c.tsml.gone", "3"),
      ], generation: 7)
    #expect(index.rows.map(\.state.words) == ["served", "refused because no", "gone"])
    let row = try #require(index.rows.first)
    #expect(row.contract == contract)
    #expect(row.name == "Coin")
    #expect(row.chains == [.main, kovan])
    #expect(row.size == 1)
    #expect(row.warnings.contains("it was signed in the future"))
    #expect(index.counts == [.served: 1, .refused: 1, .gone: 1])
    #expect(index.summary.hasPrefix("index 7: 3 files (1 served, 1 refused, 1 gone), 1 contract "))
    // A signing time in the future counts as absent.
    let candidate = try #require(
      index.edition(of: ContractKey(contract), schema)?.candidates.first)
    #expect(candidate.modified == Timestamp(seconds: 1_600_000_000))
  }

  @Test func sightingsAreRememberedOncePerBytes() throws {
    let digest = SHA256.hash(Array("1".utf8))
    let sighting = IndexBuilder.Sighting(schema: schema, contract: contract, digest: digest)
    func build(_ known: [IndexBuilder.Sighting: Timestamp], _ modified: Int64) -> IndexBuilder {
      var builder = IndexBuilder(
        rules: RepositoryRules(), headers: ResponseHeaders(dependsOnClient: false), now: Self.now,
        sightings: known)
      _ = builder.build([file("a", "1", modified: modified)], generation: 1)
      return builder
    }
    #expect(build([:], 1_600_000_000).newSightings == [sighting: Timestamp(seconds: 1_600_000_000)])
    #expect(build([:], Self.now.seconds + 1).newSightings == [sighting: Self.now])
    #expect(build([:], -1).newSightings == [sighting: Timestamp(seconds: 0)])
    let known = build([sighting: Timestamp(seconds: 5)], 1_600_000_000)
    #expect(known.newSightings.isEmpty)
    #expect(known.sightings == [sighting: Timestamp(seconds: 5)])
  }

  @Test(arguments: [
    (RepositoryRules.Check.require, true, false), (.warn, false, true), (.off, false, false),
  ])
  func aFindingRefusesWarnsOrCountsForNothing(
    check: RepositoryRules.Check, isRefused: Bool, isWarned: Bool
  ) {
    let failure = TokenScriptFile.Finding.failed(FileRefusal(reason: "r", detail: "d"))
    var rules = RepositoryRules()
    rules.signature = .off
    rules.trust = .off
    rules.schema = check
    var file = TokenScriptFile(schema: schema, root: "token")
    file.validity = failure
    let verdict = rules.evaluate(file)
    #expect((verdict.refusal != nil) == isRefused)
    #expect(verdict.warnings == (isWarned ? ["r: d"] : []))
  }

  @Test func withoutASignatureNobodyIsTrusted() {
    var rules = RepositoryRules()
    rules.signature = .warn
    rules.trust = .require
    var file = TokenScriptFile(schema: schema, root: "token")
    file.signature = .failed(FileRefusal(reason: "r", detail: ""))
    #expect(rules.evaluate(file).refusal != nil)
  }
}
