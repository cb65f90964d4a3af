internal import FoundationEssentials
internal import HTTPProtocol
internal import Observability
internal import TestSupport
internal import Testing
internal import Platform

@testable import TokenScriptRepo

/// A repository as wallets find it, against a reading by text search alone.
@Suite(.ownThreads) struct CorpusTests {
  /// Makes the demo, and beside it files with many contracts, with origins that several files share, and with addresses
  /// that are no origins.
  private static func makeCorpus(in fixture: RepositoryFixture) throws {
    try DemoRepository(dataFolder: fixture.folder)
      .make(now: Timestamp(seconds: Timestamp.now().seconds), log: Log(level: .error))
    func address(_ number: Int, uppercase: Bool = false) -> String {
      let digits = String(number, radix: 16, uppercase: uppercase)
      return "0x" + String(repeating: "0", count: 40 - digits.count) + digits
    }
    for number in 1...12 {
      let schema = ["2019/05", "2020/03", "2020/06"][number % 3]
      let contracts = [
        (
          name: "Main",
          addresses: [
            (network: "1", address: address(number)),
            (network: "3", address: address(number + 1000, uppercase: true)),
          ]
        ),
        (name: "Shared", addresses: [(network: "1", address: address(200 + number / 4))]),
        (name: "Other", addresses: [(network: "1", address: address(300 + number))]),
      ]
      let text = tokenScript(
        schema, contracts: contracts, origins: [number % 4 == 0 ? "Shared" : "Main"],
        note: "\(number)")
      try fixture.write(
        "corpus/\(number).tsml", bytes: Signer.shop.sign(text, at: 1_550_000_000 + Int64(number)))
    }
  }

  /// The facts about a file that a text search finds.
  private struct Sketch {
    let path: String
    let bytes: [UInt8]
    let schema: String
    let origins: Set<String>
    let others: Set<String>
  }

  private static func sketches(in folder: String) throws -> [Sketch] {
    try FileManager.default.subpathsOfDirectory(atPath: folder).sorted().compactMap { path in
      guard path.hasSuffix(".tsml") || path.hasSuffix(".xml") else { return nil }
      let bytes = [UInt8](try Data(contentsOf: URL(filePath: "\(folder)/\(path)")))
      let text = String(decoding: bytes, as: UTF8.self)
      let parts = text.split(separator: "=\"http://tokenscript.org/", maxSplits: 1)
      guard parts.count == 2 else { return nil }
      let schema = String(parts[1].prefix(7))
      // The first `origins` of the document is the root's; the others are in attributes.
      guard let origin = text.split(separator: "<ts:origins>", maxSplits: 1).last,
        let name = origin.split(separator: "contract=\"", maxSplits: 1).last?.prefix(while: {
          $0 != "\""
        })
      else { return nil }
      var origins: Set<String> = []
      var others: Set<String> = []
      for contract in text.components(separatedBy: "<ts:contract ").dropFirst() {
        let body = contract.components(separatedBy: "</ts:contract>")[0]
        let isOrigin = body.prefix { $0 != ">" }.contains("name=\"\(name)\"")
        for address in body.components(separatedBy: "<ts:address").dropFirst() {
          guard let hex = address.components(separatedBy: ">").dropFirst().first?.prefix(42),
            hex.hasPrefix("0x")
          else { continue }
          if isOrigin { origins.insert(hex.lowercased()) } else { others.insert(hex.lowercased()) }
        }
      }
      return Sketch(path: path, bytes: bytes, schema: schema, origins: origins, others: others)
    }
  }

  @Test func everyOriginIsServedByteForByteAndNothingElseIs() async throws {
    let fixture = try RepositoryFixture()
    try FileManager.default.removeItem(atPath: fixture.root)
    try Self.makeCorpus(in: fixture)
    let sketches = try Self.sketches(in: fixture.root)
    try #require(sketches.count == DemoFile.all.count + 12)
    let server = try await fixture.server()
    var served: Set<String> = []
    for sketch in sketches {
      for address in sketch.origins {
        let url = "/\(sketch.schema)/\(address)"
        served.insert(url)
        let response = try await server.get(url)
        let same = sketches.filter { $0.schema == sketch.schema && $0.origins.contains(address) }
        switch response.status {
        case .ok: #expect(same.contains { $0.bytes == response.bytes }, "\(url) \(sketch.path)")
        case .multipleChoices: #expect(same.count > 1, "\(url) \(sketch.path)")
        default: Issue.record("\(url) of \(sketch.path): \(response.status.code)")
        }
        if same.count == 1 { #expect(response.bytes == sketch.bytes, "\(url) \(sketch.path)") }
        #expect(try await server.get("/\(address)").status.code < 400)
      }
    }
    for sketch in sketches {
      for address in sketch.others where !served.contains("/\(sketch.schema)/\(address)") {
        let response = try await server.get("/\(sketch.schema)/\(address)")
        #expect(response.status == .notFound, "\(address) of \(sketch.path)")
      }
    }
    #expect(!served.isEmpty)
  }
}
