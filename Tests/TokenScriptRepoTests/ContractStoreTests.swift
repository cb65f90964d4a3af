internal import Cryptography
internal import Storage
internal import Testing

@testable import TokenScriptRepo

struct ContractStoreTests {
  private func opened() async throws -> ContractStore {
    ContractStore(try await Store.open(.memory, migrations: ContractStore.migrations))
  }

  private func key(_ path: [UInt8], _ content: UInt8) -> ContractStore.Key {
    ContractStore.Key(path: RepositoryPath(bytes: path), digest: SHA256.hash([content]).bytes)
  }

  private func full() throws -> TokenScriptFile {
    var file = TokenScriptFile(schema: try #require(SchemaVersion("2020/03")), root: "token")
    file.contracts = [
      .init(
        address: try #require(EthereumAddress(alice)), name: "A'\"\u{1F600}", network: .max,
        isOrigin: true),
      .init(address: try #require(EthereumAddress(bob)), name: "", network: nil, isOrigin: false),
    ]
    file.signer = .init(commonName: nil, key: "k", kind: "RSA", time: -5)
    file.signature = .passed
    file.validity = .failed(Refusal(reason: "r", detail: "d\nd"))
    file.trust = .unchecked
    file.warnings = ["one", "two"]
    return file
  }

  @Test func whatIsRememberedComesBack() async throws {
    let store = try await opened()
    var bare = TokenScriptFile(schema: try #require(SchemaVersion("2019/05")), root: "action")
    bare.signer = .init(commonName: "c", key: "k", kind: "P-256", time: nil)
    let readings: [(key: ContractStore.Key, reading: ContractStore.Reading)] = [
      (key(Array("a.tsml".utf8), 1), .success(try full())),
      (key(Array("a.tsml".utf8), 2), .success(bare)),
      (key([0x63, 0xe9, 0x2e], 1), .success(try full())),
      (key(Array("b".utf8), 1), .failure(Refusal(reason: "x", detail: "y", isMalformed: true))),
    ]
    let sighting = IndexBuilder.Sighting(
      schema: bare.schema, contract: try #require(EthereumAddress(bob)), digest: [1, 2])
    try await store.remember(readings, under: "1", sightings: [sighting: 77], forgetting: [])
    let memory = try await store.memory(under: "1")
    #expect(memory.readings.count == 4)
    for (key, reading) in readings { #expect(memory.readings[key] == reading) }
    #expect(memory.sightings == [sighting: 77])
    #expect(memory.outdated.isEmpty)

    // Other rules void what was found out, but not what was seen.
    let other = try await store.memory(under: "2")
    #expect(other.readings.isEmpty)
    #expect(Set(other.outdated) == Set(readings.map(\.key)))
    #expect(other.sightings == [sighting: 77])

    // What was seen once stays as it was; what is forgotten goes with all that hangs on it.
    try await store.remember(
      [readings[0]], under: "2", sightings: [sighting: 99], forgetting: readings.map(\.key))
    let last = try await store.memory(under: "2")
    #expect(last.readings == [readings[0].key: readings[0].reading])
    #expect(last.sightings == [sighting: 77])
    #expect(last.outdated.isEmpty)
  }
}
