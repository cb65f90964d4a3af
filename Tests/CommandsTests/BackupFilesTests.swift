internal import Foundation
internal import ServiceKit
internal import Storage
internal import TestSupport
internal import Testing

@testable import Commands

@Suite struct BackupFilesTests {
  @Test func holdsKeysAndOtherFilesWithoutTheStoreAndTheServicesContent() throws {
    let folder = TemporaryFolder(["awd.toml": "[server]\ndata = \".\"\n[sample]\n"])
    for path in ["other", "greetings", "other/greetings"] {
      try FileManager.default.createDirectory(
        atPath: "\(folder.path)/\(path)", withIntermediateDirectories: true)
    }
    for file in [
      "secret", "awd.lock", "awd.sqlite3", "awd.sqlite3-wal", "greetings/hello", "other/token",
      "other/greetings/bye",
    ] {
      try Data(file.utf8).write(to: URL(filePath: "\(folder.path)/\(file)"))
    }
    try Data(repeating: 0, count: 1 << 20 + 1).write(to: URL(filePath: "\(folder.path)/large"))

    let services: [any Service.Type] = [SampleService.self]
    let configuration = try LoadedConfiguration(
      file: "\(folder.path)/awd.toml", environment: [:], services: services)
    let files = try BackupFiles(of: configuration, services: services)
    #expect(
      files.files.map(\.path) == ["sample.key", "awd.toml", "other/greetings/bye", "other/token"])
    #expect(files.files.first.map { String(decoding: $0.content, as: UTF8.self) } == "secret")
    #expect(files.leftOut == ["large"])
  }
}
