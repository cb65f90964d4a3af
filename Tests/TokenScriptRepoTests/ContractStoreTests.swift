internal import Cryptography
internal import Ethereum
internal import Storage
internal import TestSupport
internal import Testing
internal import Platform

@testable import TokenScriptRepo

struct ContractStoreTests {
  private func opened() async throws -> ContractStore {
    ContractStore(try await Store.open(.memory, migrations: ContractStore.migrations))
  }

  @Test func anAddressOfManyUsersReportsAsMuchAsTheyDo() async throws {
    let store = ContractStore(try await opened().store, usersPerAddress: 3)
    let now = Timestamp(seconds: 1_600_000_000)
    for _ in 0..<30 { #expect(try await store.count(.report, from: "192.0.2.1", at: now) == nil) }
    #expect(try await store.count(.report, from: "192.0.2.1", at: now) != nil)
    #expect(try await store.count(.report, from: "192.0.2.2", at: now) == nil)
    // It counts by file, and not by address.
    #expect(try await store.count(.verification, from: "digest", at: now) == nil)
    #expect(try await store.count(.verification, from: "digest", at: now) != nil)
  }

  private func key(_ path: [UInt8], _ content: UInt8) -> ContractStore.Key {
    ContractStore.Key(path: RepositoryPath(bytes: path), digest: SHA256.hash([content]))
  }

  private func full() throws -> TokenScriptFile {
    var file = TokenScriptFile(schema: try #require(SchemaVersion("2020/03")), root: "token")
    file.contracts = [
      .init(
        address: try #require(EthereumAddress(alice)), name: "A'\"\u{1F600}",
        chain: try #require(ChainID(.max)),
        isOrigin: true),
      .init(address: try #require(EthereumAddress(bob)), name: "", chain: .main, isOrigin: false),
    ]
    file.signer = .init(commonName: nil, key: "k", kind: "RSA", time: Timestamp(seconds: -5))
    file.signature = .passed
    file.validity = .failed(FileRefusal(reason: "r", detail: "d\nd"))
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
      (key(Array("b".utf8), 1), .failure(FileRefusal(reason: "x", detail: "y", isMalformed: true))),
    ]
    let sighting = IndexBuilder.Sighting(
      schema: bare.schema, contract: try #require(EthereumAddress(bob)),
      digest: SHA256.hash([1, 2]))
    try await store.remember(
      readings, under: "1", sightings: [sighting: Timestamp(seconds: 77)], forgetting: [])
    let memory = try await store.memory(under: "1")
    #expect(memory.readings.count == 4)
    for (key, reading) in readings { #expect(memory.readings[key] == reading) }
    #expect(memory.sightings == [sighting: Timestamp(seconds: 77)])
    #expect(memory.outdated.isEmpty)

    // Other rules void the readings, but not the times.
    let other = try await store.memory(under: "2")
    #expect(other.readings.isEmpty)
    #expect(Set(other.outdated.map(\.key)) == Set(readings.map(\.key)))
    #expect(other.sightings == [sighting: Timestamp(seconds: 77)])

    // The first time stays, and deleted readings go with their contracts.
    try await store.remember(
      [readings[0]], under: "2", sightings: [sighting: Timestamp(seconds: 99)],
      forgetting: readings.map { ($0.key, "1") })
    let last = try await store.memory(under: "2")
    #expect(last.readings == [readings[0].key: readings[0].reading])
    #expect(last.sightings == [sighting: Timestamp(seconds: 77)])
    #expect(last.outdated.isEmpty)
  }
}
