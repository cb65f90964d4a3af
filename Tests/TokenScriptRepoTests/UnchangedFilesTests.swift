internal import FoundationEssentials
internal import HTTPProtocol
internal import Storage
internal import TestSupport
internal import Testing
internal import Platform
internal import Formats

@testable import TokenScriptRepo

/// Tests of a start over files that an earlier run has read.
@Suite(.ownThreads) struct UnchangedFilesTests {
  private static let rules = "signature = \"off\"\ntrust = \"off\""
  private let fixture: RepositoryFixture

  init() throws { fixture = try RepositoryFixture() }

  /// Lets so much time go by that the files' times are settled.
  private func settle(_ seconds: Int64 = 10) {
    let now = Int64(Date().timeIntervalSince1970)
    fixture.time.withLock { $0 = now + seconds }
  }

  private func contents(_ server: RepositoryServer) -> [FileContent] {
    server.service.indexer.current.files.compactMap(\.content)
  }

  /// Starts the service, waits until it has read all files, and starts it once more.
  private func restarted(
    _ store: Store, change: () async throws -> Void = {}
  ) async throws -> RepositoryServer {
    let first = try await fixture.server(Self.rules, store: store)
    await first.service.indexer.contentPass?.wait()
    try await change()
    return try await fixture.server(Self.rules, store: store)
  }

  /// Says that a file was read with the status that it has now, and that the stored reading is of other bytes.
  private func forge(_ path: String, in store: Store) async throws {
    let folder = try RepositoryFolder(fixture.root)
    let entry = try #require(folder.list().entries.first { $0.path.text == path })
    let (path, status) = (entry.path, try #require(entry.status))
    try await store.write { transaction in
      try transaction.execute(
        "UPDATE tokenscript_files SET size = ?, inode = ?, modified = ?, changed = ? WHERE path = ?",
        status.size, Int64(bitPattern: status.identity.inode), status.modified, status.changed,
        path)
    }
  }

  @Test func anUnchangedFileIsReadWhenItIsAskedFor() async throws {
    for number in 0..<200 {
      try fixture.write("\(number).tsml", tokenScript(for: address(number), note: "\(number)"))
    }
    settle()
    let server = try await restarted(try await fixture.store())
    // Each one is there at once, whether the pass has come to it or not.
    for number in (0..<200).reversed() {
      let response = try await server.get("/\(address(number))")
      #expect(response.status == .ok)
      #expect(response.text == tokenScript(for: address(number), note: "\(number)"))
    }
    #expect(await server.service.indexer.contentPass?.hasRead() == true)
    #expect(contents(server).allSatisfy { $0.bytes != nil })
  }

  @Test func aFileIsNotReadBeforeTheIndexIsMade() async throws {
    try fixture.write("a.tsml", tokenScript(for: alice))
    settle()
    let store = try await fixture.store()
    let seen = try await restarted(store).service.indexer.current.files
    let folder = try RepositoryFolder(fixture.root)
    let memory = try await ContractStore(store).memory(under: fingerprint(store))
    var rules = RepositoryRules()
    (rules.signature, rules.trust) = (.off, .off)
    let scan = RepositoryScan(
      folder: folder, reader: TokenScriptReader(), rules: rules, now: Timestamp(seconds: 0),
      memory: memory, known: [:])
    let file = try #require(scan.file(try folder.list().entries[0]))
    #expect(file.digest == seen[0].digest)
    let content = try #require(file.content)
    #expect(content.bytes == nil)
    #expect(try content.load().array == Array(tokenScript(for: alice).utf8))
    #expect(content.bytes != nil)
  }

  @Test func aFileThatHasJustChangedIsReadAgain() async throws {
    try fixture.write("a.tsml", tokenScript(for: alice))
    // The clock of the file system may give the next change the same time.
    settle(0)
    let store = try await fixture.store()
    _ = try await restarted(store)
    let memory = try await ContractStore(store).memory(under: fingerprint(store))
    #expect(memory.readings.count == 1)
    #expect(memory.seen.isEmpty)
  }

  @Test func aFileOfTheSameSizeAndTimeIsReadAgain() async throws {
    try fixture.write("a.tsml", tokenScript(for: alice, note: "one"))
    settle()
    let server = try await restarted(try await fixture.store()) {
      try fixture.write("a.tsml", tokenScript(for: alice, note: "two"))
    }
    #expect(try await server.get("/\(alice)").text.contains("two"))
  }

  @Test func noBytesAreServedThatAreNotThoseOfTheIndex() async throws {
    for number in 0..<50 {
      try fixture.write("\(number).tsml", tokenScript(for: address(number), note: "old"))
    }
    settle()
    let store = try await fixture.store()
    let server = try await restarted(store) {
      for number in 0..<50 {
        try fixture.write("\(number).tsml", tokenScript(for: address(number), note: "new"))
        try await forge("\(number).tsml", in: store)
      }
    }
    let old = server.service.indexer.current
    for number in 0..<50 {
      let response = try await server.get("/\(address(number))")
      // 503 until the pass has seen that the file has changed, and the next index is made.
      #expect(response.status == .serviceUnavailable || response.text.contains("new"))
      if response.status == .serviceUnavailable { #expect(response[.retryAfter] == "1") }
    }
    while server.service.indexer.current === old { try await Task.sleep(for: .milliseconds(5)) }
    for number in 0..<50 {
      #expect(try await server.get("/\(address(number))").text.contains("new"))
    }
  }

  @Test func aFileThatIsGoneBeforeItIsReadIsNotServed() async throws {
    try fixture.write("a.tsml", tokenScript(for: alice))
    try fixture.write("b.tsml", tokenScript(for: bob))
    settle()
    let folder = try RepositoryFolder(fixture.root)
    let entry = try #require(try folder.list().entries.first)
    let digest = try #require(
      try await restarted(try await fixture.store()).service.indexer.current.files[0].digest)
    let content = FileContent(at: entry, in: folder, digest, 10)
    try fixture.remove("a.tsml")
    #expect(throws: FileContent.Changed.self) { try content.load() }
    #expect(content.hasChanged)
    // It stays so, if the file comes back.
    try fixture.write("a.tsml", tokenScript(for: alice))
    #expect(throws: FileContent.Changed.self) { try content.load() }
  }

  private func address(_ number: Int) -> String {
    "0x" + String(repeating: "0", count: 36) + String(0x1000 + number, radix: 16)
  }

  private func fingerprint(_ store: Store) async throws -> String {
    try await store.read { snapshot in
      var rules = ""
      try snapshot.forEach("SELECT rules FROM tokenscript_files") { row in rules = try row[0] }
      return rules
    }
  }
}
