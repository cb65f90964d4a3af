internal import Foundation
internal import ServiceKit
internal import Storage
internal import TestSupport
internal import Testing

@testable import Commands

@Suite struct StoreProbeTests {
  @Test func writesARowOnceASecondHoweverOftenItIsAsked() async throws {
    let folder = TemporaryFolder(["x": ""])
    let store = try await Store.open(.file("\(folder.path)/awd.sqlite3"))
    let probe = StoreProbe(store)
    let before = store.statistics.groupsCommitted
    let start = ContinuousClock.now
    await withTaskGroup { group in
      for _ in 0..<100 { group.addTask { #expect(await probe.problem == nil) } }
    }
    let seconds = Int((ContinuousClock.now - start) / .seconds(1))
    #expect(store.statistics.groupsCommitted - before <= seconds + 1)
    #expect(store.statistics.groupsCommitted - before >= 1)
    await store.close()
    try await Task.sleep(for: .milliseconds(1100))
    #expect(await probe.problem == "it can't be written to")
  }
}

@Suite struct StoreCheckTests {
  private func run(_ words: String..., in folder: TemporaryFolder) async -> (Int32, Session) {
    let session = Session()
    let code = await session.run(words + ["--config", "\(folder.path)/awd.toml"])
    return (code, session)
  }

  @Test func aWholeStoreIsGoodAndADamagedOneSaysWhatToDo() async throws {
    let folder = TemporaryFolder([
      "awd.toml": "[server]\nlisten = [\"127.0.0.1:0\"]\ndata = \".\"\n"
    ])
    let path = "\(folder.path)/awd.sqlite3"
    let (_, first) = await run("check", "--verbose", in: folder)
    #expect(first.output.contains("\(path): `awd serve` will make it"))
    let store = try await Store.open(.file(path))
    await store.close()
    let (code, second) = await run("check", "--verbose", in: folder)
    #expect(code == 0 && second.output.contains("store: good: \(path): whole"))
    #expect(second.output.contains("MiB are free"))

    var bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
    for index in 4096..<bytes.count { bytes[index] = 0xa5 }
    try Data(bytes).write(to: URL(filePath: path))
    let (damaged, third) = await run("check", "--verbose", in: folder)
    #expect(damaged == 1 && third.output.contains("awd restore FILE"))
    // Nothing starts half.
    let (refused, fourth) = await run("sample", "greet", "all", in: folder)
    #expect(refused == 1 && fourth.errors.contains("awd restore FILE"))
  }
}

@Suite struct ExposureCheckTests {
  private func findings(_ server: String) throws -> [ContentFinding] {
    let folder = TemporaryFolder(["awd.toml": "[server]\n\(server)\n"])
    let configuration = try LoadedConfiguration(
      file: "\(folder.path)/awd.toml", environment: [:], services: [SampleService.self])
    return ExposureCheck.findings(configuration.server)
  }

  @Test(arguments: [
    ("", []),
    ("services = []", ["only probes are answered"]),
    ("[server.limits]\nbody = \"2MiB\"\nmemory = \"1MiB\"", ["never has room"]),
    (
      "public_url = \"https://wallet.example\"\ntrusted_proxies = [\"::/0\"]\nadmin_listen = \"127.0.0.1:9090\"",
      ["::/0 holds every address"]
    ),
    ("public_url = \"http://127.0.0.1:8080\"", []),
    (
      "public_url = \"https://wallet.example\"",
      ["trusted_proxies is empty", "admin_listen is missing"]
    ),
    (
      "public_url = \"https://wallet.example\"\ntrusted_proxies = [\"127.0.0.1\"]",
      ["admin_listen is missing"]
    ),
    // The package's: no proxy may be there yet.
    ("trusted_proxies = [\"127.0.0.1\", \"::1\"]\nadmin_listen = \"127.0.0.1:9090\"", []),
    (
      "trusted_proxies = [\"10.0.0.2\"]\nadmin_listen = \"127.0.0.1:9090\"",
      ["public_url is missing"]
    ),
    (
      "listen = [\"0.0.0.0:8080\"]\nadmin_listen = \"127.0.0.1:9090\"", ["public_url is missing"]
    ),
    (
      "public_url = \"https://wallet.example\"\ntrusted_proxies = [\"127.0.0.1\"]\nadmin_listen = \"0.0.0.0:9090\"",
      ["everyone who reaches"]
    ),
  ])
  func doubts(_ server: String, _ parts: [String]) throws {
    let doubts = try findings(server).filter { $0.grade != .good }
    #expect(doubts.count == parts.count)
    for part in parts { #expect(doubts.contains { $0.message.contains(part) }, "\(part)") }
  }
}
