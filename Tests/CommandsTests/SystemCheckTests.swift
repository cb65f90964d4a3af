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

  @Test func tooFewDescriptorsAreDoubtful() {
    #expect(SystemCheck.descriptors(1024, connections: 16_000).grade == .doubtful)
    #expect(SystemCheck.descriptors(20_000, connections: 16_000).grade == .good)
  }

  @Test func aClockInThePastIsWrong() {
    #expect(SystemCheck.clock(now: Timestamp(seconds: 0)).grade == .wrong)
    #expect(SystemCheck.clock(now: .now()).grade == .good)
  }
}
