internal import FoundationEssentials
internal import Glibc
internal import HTTPProtocol
internal import Synchronization
internal import Platform
internal import TestSupport
internal import Testing
internal import Formats

@testable import TokenScriptRepo

/// Tests that an index is replaced as a whole under concurrent requests.
struct SwapTests {
  private let fixture: RepositoryFixture

  init() throws { fixture = try RepositoryFixture() }

  private final class Flag: Sendable {
    private let value = Atomic<Bool>(false)
    var isSet: Bool { value.load(ordering: .acquiring) }
    func set() { value.store(true, ordering: .releasing) }
  }

  /// Writes two files into a new folder, and makes the root's link lead there.
  private func write(_ generation: Int) throws {
    let folder = "\(fixture.folder)/generation\(generation)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    for (name, address) in [("a", alice), ("b", bob)] {
      let text = tokenScript(for: address, note: "generation \(generation);")
      try Data(text.utf8).write(to: URL(filePath: "\(folder)/\(name).tsml"))
    }
    let next = "\(fixture.folder)/next"
    guard symlink(folder, next) == 0, rename(next, fixture.root) == 0 else {
      throw SystemError(errno)
    }
  }

  private static func generation(_ text: String) -> Int? {
    text.split(separator: "generation ").last?.split(separator: ";").first.flatMap { Int($0) }
  }

  @Test func indexesMadeAtOnceAreNeverMixed() async throws {
    try FileManager.default.removeItem(atPath: fixture.root)
    try write(0)
    let server = try await fixture.server("signature = \"off\"\ntrust = \"off\"")
    let isOver = Flag()
    let last = 12
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<2 {
        group.addTask {
          var requests = 0
          var newest = 0
          while !isOver.isSet, !Task.isCancelled {
            // Both files come from one index, so no replacement can come in between.
            let index = server.service.indexer.current
            let generations = try [alice, bob].map { address -> Int in
              let key = try #require(ContractKey(Array(address.utf8)[...]))
              let edition = try #require(index.editions[key]?.first)
              let text = try String(
                decoding: edition.chains[0].chosen[0].content.load().array, as: UTF8.self)
              return try #require(Self.generation(text))
            }
            #expect(generations[0] == generations[1])
            // An older index does not come back.
            #expect(generations[0] >= newest)
            newest = generations[0]
            for path in ["/\(alice)", "/2019/05/\(bob)"] {
              let response = try await server.get(path)
              #expect(response.status == .ok)
              #expect(try #require(Self.generation(response.text)) >= newest)
            }
            requests += 2
            // A task that never waits must yield, or the index is never made.
            await Task.yield()
          }
          return requests
        }
      }
      for generation in 1...last {
        try write(generation)
        // A signal and a watched change may come at once.
        async let first: Void = server.service.reload()
        async let second: Void = server.service.reload()
        _ = try await (first, second)
      }
      isOver.set()
      for try await requests in group { #expect(requests > 0) }
    }
    #expect(try await Self.generation(server.get("/\(alice)").text) == last)
  }
}
