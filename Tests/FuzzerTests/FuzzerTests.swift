internal import Foundation
internal import TestSupport
internal import Testing

/// Every fuzzer over its corpus.
@Suite(.ownThreads) struct FuzzerTests {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../Fuzz").standardized.path

  private static let names: [String] = {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.sorted().filter {
      FileManager.default.fileExists(atPath: "\(folder)/\($0)/\($0)Fuzzer.swift")
    }
  }()

  @Test(arguments: names) func findsNothingInItsCorpus(name: String) throws {
    let program = try ChildProcess.built("\(name)Fuzzer")
    let outcome = try ChildProcess.run(program, ["\(Self.folder)/Corpus/\(name)"])
    #expect(outcome.code == 0, "\(outcome)")
    #expect(outcome.output.wholeMatch(of: /[1-9][0-9]* inputs\n/) != nil, "\(outcome)")
  }
}
