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
      "other/greetings/bye", "backup.12.tmp", "backup.12.tmp.12.part-journal",
      "backup.12.tmp.12.part-shm", "other/x.12.part", "other/x.12.part-wal",
      "restore.12.sqlite3-wal", "awd.sqlite3.12-1.new",
    ] {
      try Data(file.utf8).write(to: URL(filePath: "\(folder.path)/\(file)"))
    }
    try Data(repeating: 0, count: 1 << 20 + 1).write(to: URL(filePath: "\(folder.path)/large"))

    let services: [any Service.Type] = [SampleService.self]
    let configuration = try LoadedConfiguration(
      file: "\(folder.path)/awd.toml", environment: [:], services: services)
    let rule = BackupFiles(of: configuration, services: services)
    let files = try rule.read()
    #expect(
      files.files.map(\.path) == ["sample.key", "awd.toml", "other/greetings/bye", "other/token"])
    #expect(files.files.first.map { String(decoding: $0.content, as: UTF8.self) } == "secret")
    #expect(files.leftOut == ["large"])

    let placed = try rule.destinations(of: files.files)
    #expect(
      placed.map(\.path)
        == ["secret", "awd.toml", "other/greetings/bye", "other/token"].map {
          "\(folder.path)/\($0)"
        })
    for names in [
      ["awd.sqlite3"], ["awd.sqlite3-wal"], ["awd.sqlite3-shm"], ["awd.sqlite3.backup"],
      ["awd.lock"],
      ["secret"], ["secret/x"], ["greetings"], ["greetings/x"], ["sample.key", "sample.key"],
      ["a", "a/b"], ["\u{1b}[2J"], ["\u{202e}x"],
    ] {
      let files = names.map { Backup.File(path: $0, content: [1]) }
      #expect(throws: CommandError.self, "\(names)") { _ = try rule.destinations(of: files) }
    }
  }

  @Test func nothingStaysOfARestorationThatFails() throws {
    let folder = TemporaryFolder(["file": ""])
    let files = ["a/b/one", "a/two", "file/three"].map {
      Backup.File(path: "\(folder.path)/\($0)", content: [1])
    }
    func fail() throws {
      var placement = Placement()
      try placement.write(files)
      placement.keep()
    }
    #expect(throws: CommandError.self) { try fail() }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["file"])
  }
}
