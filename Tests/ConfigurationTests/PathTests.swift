internal import Foundation
internal import TestSupport
internal import Testing

@testable import Configuration

@Suite struct PathTests {
  @Test(arguments: [
    ("config/../var/dev", "var/dev"), ("./a//b/./c/", "a/b/c"), ("../a/../b", "../b"),
    ("../../a", "../../a"), ("/../a/..", "/"), ("/a/../../b", "/b"), ("a/..", "."), ("", ""),
    ("/", "/"), (".", "."), ("..", ".."), ("a/b/../../c", "c"), ("...", "..."),
  ])
  func leavesOutWhatLeadsNowhere(_ path: String, _ normalized: String) {
    #expect(path.normalizedPath == normalized)
  }

  @Test func goesUpFromWhereALinkLeads() throws {
    let temporary = TemporaryFolder()
    let folder = temporary.path
    try FileManager.default.createDirectory(
      atPath: "\(folder)/real/inner", withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(
      atPath: "\(folder)/link", withDestinationPath: "real/inner")
    #expect("\(folder)/link/../file".normalizedPath == "\(folder)/link/../file")
    #expect("\(folder)/real/../file".normalizedPath == "\(folder)/file")
  }
}
