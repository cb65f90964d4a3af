internal import Foundation
internal import Storage
internal import TestSupport
internal import Testing
internal import Platform

@Suite struct BackupTests {
  private let folder = TemporaryFolder()
  private let key = Backup.File(path: "keys/apptimist.key", content: [1, 2, 3, 0])

  private var path: String { folder.path + "/copy.backup" }

  private func back(up files: [Backup.File] = []) throws {
    try Backup.make(
      of: .file(folder.database), migrations: notes, at: path, with: files, version: "1.2.3",
      madeAt: Timestamp(seconds: 1_700_000_000)
    ) { _, _ in }
  }

  private func texts(_ database: String) async throws -> [String] {
    let store = try await Store.open(.file(database), migrations: notes)
    let all = try await StorageTests.texts(store)
    await store.close()
    return all
  }

  /// As where the disk fills up meanwhile.
  @Test func leavesNothingWhenItIsStopped() async throws {
    struct Stop: Error {}
    let store = try await folder.open()
    try await store.write { try add("one", $0) }
    await store.close()
    #expect(throws: Stop.self) {
      try Backup.make(
        of: .file(folder.database), migrations: notes, at: path, with: [], version: "1",
        madeAt: .now()
      ) { _, _ in throw Stop() }
    }
    let left = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(left.allSatisfy { !$0.contains("copy.backup") }, "\(left)")
  }

  @Test func restoresWhatWasThere() async throws {
    let store = try await folder.open()
    try await store.write { try add("one", $0) }
    try back(up: [key])
    try await store.write { try add("two", $0) }
    await store.close()
    let backup = try Backup(opening: path, migrations: notes)
    #expect(backup.manifest.version == "1.2.3" && backup.files == [key])
    #expect(backup.manifest.madeAt == Timestamp(seconds: 1_700_000_000))
    let restored = folder.path + "/restored.sqlite3"
    var told: [Int] = []
    try backup.restore(to: restored) { told.append($1) }
    #expect(try await texts(restored) == ["one"])
    #expect(told.last ?? 0 > 0)
    // The store has neither the tables of the backup nor the keys' bytes.
    let bytes = try Data(contentsOf: URL(filePath: restored))
    #expect(bytes.range(of: Data("backup_files".utf8)) == nil)
    #expect(bytes.range(of: Data(key.path.utf8)) == nil)
    #expect(throws: StoreError.self) { try backup.restore(to: restored) { _, _ in } }
    let left = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(left.allSatisfy { !$0.contains(".part") })
    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    #expect(mode == 0o600)
  }

  /// Each write adds two rows. A copy at any moment has both or none.
  @Test func catchesOneMomentOfAStoreThatIsWrittenTo() async throws {
    let store = try await folder.open()
    let writer = Task {
      for number in 0..<10_000 where !Task.isCancelled {
        try await store.write { transaction in
          try add("a\(number)" + String(repeating: "x", count: 2000), transaction)
          try add("b\(number)", transaction)
        }
      }
    }
    while try await store.read({ try count($0) }) < 200 {}
    for number in 0..<5 {
      let path = "\(folder.path)/\(number).backup"
      try Backup.make(
        of: .file(folder.database), migrations: notes, at: path, with: [], version: "1",
        madeAt: Timestamp(seconds: 1)
      ) { _, _ in }
      let restored = "\(folder.path)/\(number).sqlite3"
      try Backup(opening: path, migrations: notes).restore(to: restored) { _, _ in }
      let rows = try await texts(restored)
      #expect(rows.count >= 200 && rows.count.isMultiple(of: 2))
      #expect(rows.last?.first == "b")
    }
    writer.cancel()
    try await writer.value
    await store.close()
  }

  @Test func neverTakesThePlaceOfAFile() async throws {
    await (try folder.open()).close()
    try Data("mine".utf8).write(to: URL(filePath: path))
    #expect(throws: StoreError.self) { try back() }
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "mine")
  }

  @Test func needsAStore() throws {
    try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
    #expect(throws: StoreError.self) { try back() }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
  }

  @Test(arguments: [0, 1, 5])
  func refusesADamagedOne(_ page: Int) async throws {
    let store = try await folder.open()
    try await store.write { for number in 0..<500 { try add("note \(number)", $0) } }
    await store.close()
    try back()
    let file = try FileHandle(forUpdating: URL(filePath: path))
    try file.seek(toOffset: UInt64(page * 4096 + (page == 0 ? 0 : 8)))
    try file.write(contentsOf: Data(repeating: 0xa5, count: 200))
    try file.close()
    #expect(throws: StoreError.self) { _ = try Backup(opening: path, migrations: notes) }
  }

  /// Flips one bit of each of many bytes, those at the end among them, one after the other.
  @Test func refusesOneFlippedBitAnywhere() async throws {
    let store = try await folder.open()
    try await store.write { for number in 0..<20 { try add("note \(number)", $0) } }
    await store.close()
    try back(up: [key])
    let bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
    let places = Array(stride(from: 0, to: bytes.count, by: 61)) + (bytes.count - 400..<bytes.count)
    for place in places {
      var changed = bytes
      changed[place] ^= 1 << (place % 8)
      try Data(changed).write(to: URL(filePath: path))
      #expect(throws: StoreError.self, "byte \(place)") {
        _ = try Backup(opening: path, migrations: notes)
      }
    }
    try Data(bytes).write(to: URL(filePath: path))
    _ = try Backup(opening: path, migrations: notes)
  }

  @Test func refusesALogBesideIt() async throws {
    await (try folder.open()).close()
    try back()
    try Data("log".utf8).write(to: URL(filePath: path + "-wal"))
    #expect(throws: StoreError.self) { _ = try Backup(opening: path, migrations: notes) }
  }

  @Test(arguments: [Int64.min, -1, Int64.max])
  func writesAnyTime(_ seconds: Int64) async throws {
    await (try folder.open()).close()
    try Backup.make(
      of: .file(folder.database), migrations: notes, at: path, with: [], version: "1",
      madeAt: Timestamp(seconds: seconds)
    ) { _, _ in }
    let madeAt = try Backup(opening: path, migrations: notes).manifest.madeAt
    #expect("\(madeAt)".utf8.count == 24)
  }

  @Test func refusesATruncatedOne() async throws {
    await (try folder.open()).close()
    try back()
    let bytes = try Data(contentsOf: URL(filePath: path))
    try bytes.dropLast(4096).write(to: URL(filePath: path))
    #expect(throws: StoreError.self) { _ = try Backup(opening: path, migrations: notes) }
  }

  @Test func refusesWhatIsNoBackup() async throws {
    await (try folder.open()).close()
    #expect(throws: StoreError.self) { _ = try Backup(opening: folder.database, migrations: notes) }
    #expect(throws: StoreError.self) { _ = try Backup(opening: "/etc/passwd", migrations: notes) }
    #expect(throws: StoreError.self) { _ = try Backup(opening: folder.path, migrations: notes) }
  }

  @Test func refusesOneOfANewerProgram() async throws {
    await (try folder.open()).close()
    try back()
    #expect(throws: StoreError.self) { _ = try Backup(opening: path, migrations: []) }
  }

  @Test(arguments: ["", "/etc/x", "../x", "a/../../x", "a//b", "./x"])
  func refusesFilesThatLieElsewhere(_ path: String) async throws {
    await (try folder.open()).close()
    try back(up: [Backup.File(path: path, content: [1])])
    #expect(throws: StoreError.self) { _ = try Backup(opening: self.path, migrations: notes) }
  }
}
