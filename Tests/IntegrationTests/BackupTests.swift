internal import ApptimistProtocol
internal import Cryptography
internal import Foundation
internal import HTTPClient
internal import HTTPProtocol
internal import TestSupport
internal import Testing
internal import WalletClient

/// `awd backup` beside a busy server, `awd restore` into an empty site, and a server there.
@Suite(.withOtherPrograms, .timeLimit(.minutes(2))) struct BackupTests {
  private func modified(_ site: Site) async throws -> String? {
    let answer = try await WebClient().send(
      OutgoingRequest(.get, "\(site.url)/\(Site.namespace)/\(Site.contract)"))
    return answer.fields.first(.lastModified)
  }

  /// Expects that each sender's numbers count up from 0, at least to the last one that was acknowledged before, and to
  /// none that was not sent.
  private func expectMoment(_ texts: [String], since before: [String], until after: [String]) {
    let senders = Dictionary(grouping: texts) { $0.prefix { $0 != ":" } }
    for (sender, texts) in senders {
      #expect(texts == texts.indices.map { "\(sender):\($0)" })
    }
    #expect(Set(before).isSubset(of: texts))
    // One message of each sender was on its way.
    #expect(Set(texts).subtracting(after).count <= senders.count)
  }

  /// From SQLite or PostgreSQL to either: it is also how a server moves.
  @Test(arguments: [false, true], [false, true])
  func aMomentOfABusyServerIsServedElsewhere(from isShared: Bool, to isSharedThere: Bool)
    async throws
  {
    let site = try Site(isShared: isShared)
    let copy = try Site(isShared: isSharedThere)
    let file = "\(site.folder)/awd.backup"
    try await site.serving { _ in
      let load = try await Load.start(on: site)
      try await load.phone.device.write([4, 2], to: try #require(Filename("note")))
      let token = try #require(try await site.msgr("token").token)
      try await load.advance(by: 10)
      let before = load.progress
      let backup = try await site.run("backup", file, "--json")
      try #require(backup.code == 0, "\(backup)")
      try await load.advance(by: 10)

      // Nothing is overwritten.
      #expect(try await site.run("backup", file).code == 1)
      #expect(try await site.run("restore", file).code == 1)
      let record = await load.finish()
      #expect(record.failures == [])

      try copy.configure(rest: "[tokenscript]\nrepository = \"\(site.data)/repository\"")
      let restored = try await copy.run("restore", file)
      try #require(restored.code == 0, "\(restored)")
      #expect(restored.output.contains("apptimist.keys"))
      #expect(try await copy.run("restore", file).code == 1)
      try await copy.serving { _ in
        #expect(try await copy.identity() == site.identity())
        #expect(try await modified(copy) == modified(site))
        #expect(try await MsgrServer(copy.url).session(token: token).contacts() == [])
        let inbox = try await copy.msgr(Load.recipient, isNew: false).inbox()
        expectMoment(inbox.map(\.text), since: before.msgr, until: record.msgr)

        let phone = try await copy.device(nil, keys: load.phone.keys)
        #expect(try await phone.device.read(try #require(Filename("note"))) == [4, 2])
        // A new message comes after all older ones.
        try await copy.device("Other").send("last", to: phone.user)
        var texts: [String] = []
        while true {
          let text = try await phone.next().text
          if text == "last" { break }
          texts.append(text)
        }
        expectMoment(texts, since: before.apptimist, until: record.apptimist)
      }
    }
  }

  /// A file and its time, a withdrawal, and who was the first to publish for a contract.
  @Test(arguments: [false, true], [false, true])
  func whatWasPublishedIsServedElsewhere(from isShared: Bool, to isSharedThere: Bool) async throws {
    let (site, copy) = (try Site(isShared: isShared), try Site(isShared: isSharedThere))
    for each in [site, copy] {
      try each.configure(
        services: ["tokenscript"], server: "public_url = \"\(each.url)\"",
        rest: "[tokenscript.publish]\npolicy = \"open\"")
    }
    func repo(_ words: String...) async throws -> Int32 {
      try await runAwd(["repo"] + words, home: site.folder).code
    }
    func address(_ contract: Int) -> String {
      "0x" + String(repeating: "\(contract)", count: 40)
    }
    /// Makes a file that one of the two has signed for a contract.
    func file(_ contract: Int, by signer: String) async throws -> String {
      let key = "\(site.folder)/\(signer).pem"
      if !FileManager.default.fileExists(atPath: key) {
        let kind = ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]
        let made = try await ChildProcess.run(
          "/usr/bin/openssl", ["genpkey"] + kind + ["-out", key])
        try #require(made.code == 0, "\(made)")
      }
      let path = "\(site.folder)/\(signer)\(contract).tsml"
      try #require(try await repo("new", "--contract", address(contract), path) == 0)
      try #require(try await repo("sign", "--key", key, path) == 0)
      return path
    }
    func path(_ contract: Int) -> String { "/2024/01/chain/1/\(address(contract))" }
    func answer(_ contract: Int, at site: Site) async throws -> IncomingResponse {
      try await WebClient().send(OutgoingRequest(.get, site.url + path(contract)))
    }
    let kept = try await file(1, by: "first")
    let gone = try await file(2, by: "first")
    let foreign = try await file(1, by: "second")
    let key = "\(site.folder)/first.pem"
    let (backup, modified) = try await site.serving { _ in
      for file in [kept, gone] { #expect(try await repo("publish", "--to", site.url, file) == 0) }
      #expect(try await repo("withdraw", "--key", key, site.url + path(2)) == 0)
      #expect(try await repo("publish", "--to", site.url, foreign) == 1)
      return (
        try await site.run("backup", "\(site.folder)/awd.backup"),
        try await answer(1, at: site).fields.first(.lastModified)
      )
    }
    try #require(backup.code == 0, "\(backup)")
    let restored = try await copy.run("restore", "\(site.folder)/awd.backup")
    try #require(restored.code == 0, "\(restored)")
    try await copy.serving { _ in
      let served = try await answer(1, at: copy)
      #expect(try served.body == [UInt8](Data(contentsOf: URL(filePath: kept))))
      #expect(served.fields.first(.lastModified) == modified && modified != nil)
      #expect(try await answer(2, at: copy).status == .gone)
      // Neither does another get in now, nor does what was withdrawn.
      #expect(try await repo("publish", "--to", copy.url, foreign) == 1)
      #expect(try await repo("publish", "--to", copy.url, gone) == 1)
      #expect(try await repo("withdraw", "--key", key, copy.url + path(1)) == 0)
      #expect(try await answer(1, at: copy).status == .gone)
    }
  }

  @Test func keysThatLieElsewhereAreKept() async throws {
    let site = try Site()
    let copy = try Site()
    let file = "\(site.folder)/awd.backup"
    let keys = "\(copy.folder)/secrets/of/siren.keys"
    try site.configure(rest: #"keys = "\#(site.folder)/siren.keys""#)
    try copy.configure(rest: #"keys = "\#(keys)""#)
    let identity = try await site.serving { _ in try await site.identity() }
    // The service's tables are there, though it is off.
    try site.configure(services: ["msgr"], rest: #"keys = "\#(site.folder)/siren.keys""#)
    // A file that the configuration doesn't name must not be taken for the keys.
    try Data("old".utf8).write(to: URL(filePath: "\(site.data)/apptimist.keys"))
    let backup = try await site.run("backup", file)
    try #require(backup.code == 0, "\(backup)")
    #expect(backup.output.contains("without apptimist.keys"))

    try FileManager.default.createDirectory(
      atPath: "\(copy.folder)/secrets/of", withIntermediateDirectories: true)
    try Data("others".utf8).write(to: URL(filePath: keys))
    let refused = try await copy.run("restore", file)
    #expect(
      refused.code == 1 && refused.errors.contains("in the way, and none is overwritten: \(keys)"))
    #expect(try Data(contentsOf: URL(filePath: keys)) == Data("others".utf8))
    #expect(!FileManager.default.fileExists(atPath: "\(copy.data)/awd.sqlite3"))

    try FileManager.default.removeItem(atPath: "\(copy.folder)/secrets")
    let restored = try await copy.run("restore", file)
    try #require(restored.code == 0, "\(restored)")
    #expect(restored.output.contains("with \(keys)"))
    #expect(!FileManager.default.fileExists(atPath: "\(copy.data)/apptimist.keys"))
    let attributes = try FileManager.default.attributesOfItem(atPath: keys)
    #expect(attributes[.posixPermissions] as? Int == 0o600)
    let served = try await copy.serving { _ in try await copy.identity() }
    #expect(served == identity)

    let bare = "\(site.folder)/bare.backup"
    try #require(try await site.run("backup", bare, "--no-keys").code == 0)
    try FileManager.default.removeItem(atPath: copy.data)
    try FileManager.default.removeItem(atPath: keys)
    try #require(try await copy.run("restore", bare).code == 0)
    #expect(!FileManager.default.fileExists(atPath: keys))
  }

  @Test func whatIsNoBackupIsRefused() async throws {
    let site = try Site()
    let file = "\(site.folder)/none.backup"
    try Data(repeating: 7, count: 10_000).write(to: URL(filePath: file))
    let result = try await site.run("restore", file)
    #expect(result.code == 1 && result.errors.contains("nothing is restored"))
    #expect(!FileManager.default.fileExists(atPath: "\(site.data)/awd.sqlite3"))
  }
}
