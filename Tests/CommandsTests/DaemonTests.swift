internal import ServiceKit
internal import Configuration
internal import Foundation
internal import FoundationNetworking
internal import HTTPServer
internal import Observability
internal import Storage
internal import TestSupport
internal import Testing

@testable import Commands

@Suite struct DaemonTests {
  private func runtime(_ folder: TemporaryFolder, _ log: Log) async throws -> ServiceRuntime {
    let configuration = try LoadedConfiguration(
      file: "\(folder.path)/awd.toml", environment: [:], services: [SampleService.self])
    try DataFolder.prepare(configuration.server.data)
    return try await ServiceRuntime.open(
      configuration, services: [SampleService.self], log: log, isServing: true)
  }

  @Test func servesAndStops() async throws {
    let folder = TemporaryFolder(["awd.toml": "[server]\nlisten = [\"127.0.0.1:0\"]\nthreads = 2\n"]
    )
    let runtime = try await runtime(folder, Log(level: .error))
    let daemon = try await Daemon(in: runtime, services: [SampleService.self])
    try daemon.start()
    let (signals, continuation) = AsyncStream.makeStream(of: StopSignals.Request.self)
    let running = Task {
      await daemon.run(
        until: signals, notifying: NotifySocket([:]),
        reloading: { () throws(ConfigurationError) in runtime.configuration })
    }
    let base = "http://\(try #require(daemon.server.endpoints.first))"
    for (path, text) in [("greeting", "hello"), ("healthz", "ok\n"), ("readyz", "ready\n")] {
      let url = try #require(URL(string: "\(base)/\(path)"))
      let (data, _) = try await URLSession.shared.data(from: url)
      #expect(String(decoding: data, as: UTF8.self) == text)
    }
    continuation.yield(.reload)
    continuation.yield(.stop)
    await running.value.cancel()
    await runtime.leave()
    await #expect(throws: StoreError.self) { try await runtime.store.write { _ in } }
  }

  @Test func aServiceThatCannotBeMadeIsNamed() async throws {
    let folder = TemporaryFolder(["awd.toml": "[sample]\ngreeting = \"fail\"\n"])
    let runtime = try await runtime(folder, Log(level: .error))
    let error = await #expect(throws: CommandError.self) {
      _ = try await Daemon(in: runtime, services: [SampleService.self])
    }
    guard case .refused(let reason) = error else { return }
    #expect(reason.contains("the service sample: ") && reason.contains("told to fail"))
    await runtime.close()
  }

  @Test func oneDaemonHasADataFolder() throws {
    let folder = TemporaryFolder()
    let first = try DataFolderLock(folder.path)
    #expect(throws: CommandError.self) { _ = try DataFolderLock(folder.path) }
    extendLifetime(first)
  }

  @Test func theDataFolderIsMadeForThisUserAlone() throws {
    let folder = TemporaryFolder(["file": ""])
    try DataFolder.prepare("\(folder.path)/a/b")
    try DataFolder.prepare("\(folder.path)/a/b")
    let attributes = try FileManager.default.attributesOfItem(atPath: "\(folder.path)/a/b")
    #expect(attributes[.posixPermissions] as? Int == 0o700)
    #expect(throws: CommandError.self) { try DataFolder.prepare("\(folder.path)/file/b") }
  }
}
