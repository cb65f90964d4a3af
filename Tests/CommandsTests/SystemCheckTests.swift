internal import Foundation
internal import Observability
internal import ServiceKit
internal import Storage
internal import TestSupport
internal import Testing
internal import Platform

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
    func findings(
      _ name: String, mode: Int, _ environment: [String: String] = [:]
    ) throws -> [ContentFinding] {
      let file = "\(folder.path)/\(name).toml"
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
      return SystemCheck.secrets(
        try LoadedConfiguration(file: file, environment: environment, services: []), environment)
    }
    let doubt = try #require(try findings("secret", mode: 0o644).first)
    #expect(doubt.grade == .doubtful)
    #expect(doubt.message.contains("store.password"))
    #expect(try findings("secret", mode: 0o640).isEmpty)
    #expect(try findings("plain", mode: 0o644).isEmpty)
    #expect(try findings("secret", mode: 0o644, ["AWD_STORE_PASSWORD": "q"]).isEmpty)
    // A file that a variable names is one with a secret, too.
    let password = "\(folder.path)/password"
    for (mode, count) in [(0o644, 1), (0o640, 0)] {
      try "q".write(toFile: password, atomically: false, encoding: .utf8)
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: password)
      let doubts = try findings("secret", mode: 0o644, ["AWD_STORE_PASSWORD_FILE": password])
      #expect(doubts.count == count)
      #expect(
        doubts.allSatisfy {
          $0.message.contains("\(password): other users may read store.password")
        })
    }
  }

  @Test func otherFilesOnOtherNodesAreDoubtful() {
    func content(_ node: String, _ sha256: [UInt8]) -> PostgreSQLReport.NodeContent {
      PostgreSQLReport.NodeContent(node: node, name: "tokenscript.repository", sha256: sha256)
    }
    let shown = [content("a", [1]), content("b", [2]), content("c", [1])]
    let findings = DatabaseCheck.compare(
      ["tokenscript.repository": [1], "other.key": [1]], with: shown)
    #expect(findings.map(\.grade) == [.doubtful, .good])
    #expect(findings.first?.message.contains("node b has other files") == true)
    #expect(findings.last?.message.hasSuffix("the same files as on a, c") == true)
  }

  @Test func aNameOfSeveralNodesIsDoubtful() {
    #expect(DatabaseCheck.namesakes(among: ["a", "b", "c"]) == nil)
    let finding = DatabaseCheck.namesakes(among: ["a", "b", "b", "c", "c", "c"])
    #expect(finding?.grade == .doubtful)
    #expect(finding?.message.contains("the same name: b, c;") == true)
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
