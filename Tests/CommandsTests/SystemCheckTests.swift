internal import Foundation
internal import Observability
internal import ServiceKit
internal import TestSupport
internal import Testing
internal import Time

@testable import Commands

@Suite struct SystemCheckTests {
  @Test func aDataFolderThatOthersMayLookIntoIsDoubtful() throws {
    let folder = TemporaryFolder(["file": ""])
    for (mode, grade) in [
      (0o700, ContentFinding.Grade.good), (0o750, .doubtful), (0o701, .doubtful),
    ] {
      try FileManager.default.setAttributes(
        [.posixPermissions: mode], ofItemAtPath: folder.path)
      #expect(SystemCheck.dataFolder(folder.path).grade == grade)
    }
    #expect(SystemCheck.dataFolder(folder.path + "/none").grade == .good)
    #expect(SystemCheck.dataFolder(folder.path + "/file").grade == .wrong)
  }

  @Test func secretsThatOthersMayReadAreDoubtful() throws {
    let folder = TemporaryFolder([
      "plain.toml": "[server]\nservices = []\n",
      "secret.toml": "[store]\nurl = \"postgresql://db.example/awd\"\npassword = \"p\"\n",
    ])
    func finding(
      _ name: String, mode: Int, _ environment: [String: String] = [:]
    ) throws -> ContentFinding? {
      let file = "\(folder.path)/\(name).toml"
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
      return SystemCheck.secrets(
        try LoadedConfiguration(file: file, environment: environment, services: []))
    }
    let doubt = try #require(try finding("secret", mode: 0o644))
    #expect(doubt.grade == .doubtful)
    #expect(doubt.message.contains("store.password"))
    #expect(try finding("secret", mode: 0o640) == nil)
    #expect(try finding("plain", mode: 0o644) == nil)
    let fromElsewhere = ["AWD_STORE_PASSWORD": "q"]
    #expect(try finding("secret", mode: 0o644, fromElsewhere) == nil)
  }

  @Test func tooFewDescriptorsAreDoubtful() {
    #expect(SystemCheck.descriptors(1024, connections: 16_000).grade == .doubtful)
    #expect(SystemCheck.descriptors(20_000, connections: 16_000).grade == .good)
  }

  @Test func aClockInThePastIsWrong() {
    #expect(SystemCheck.clock(now: Timestamp(seconds: 0)).grade == .wrong)
    #expect(SystemCheck.clock(now: .now()).grade == .good)
  }
}
