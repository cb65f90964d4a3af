internal import FoundationEssentials
internal import Glibc
internal import HTTPProtocol
internal import Platform
internal import TestSupport
internal import Testing
internal import Formats

@testable import TokenScriptRepo

struct RepositoryFolderTests {
  let fixture: RepositoryFixture

  init() throws { fixture = try RepositoryFixture() }

  private func paths() throws -> [String] {
    try RepositoryFolder(fixture.root).list().entries.map(\.path.text)
  }

  @Test func onlyTokenScriptsAndTheirMarksAreListed() throws {
    for path in [
      "a.tsml", "b.xml", "FIFA WC2018/schema1/www.sktravel.com-signed.xml", "deep/er/c.tsml",
      "old.tsml.gone", "readme.md", "d.tsml.bak", "e.gone", "xml", ".hidden.tsml",
      ".git/f.tsml", "tsml/g.txt",
    ] {
      try fixture.write(path, "<a/>")
    }
    #expect(
      try paths() == [
        "FIFA WC2018/schema1/www.sktravel.com-signed.xml", "a.tsml", "b.xml", "deep/er/c.tsml",
        "old.tsml.gone",
      ])
  }

  @Test func linksAreFollowedWithinTheRootOnly() throws {
    try fixture.write("real/a.tsml", "<a/>")
    try fixture.write("..data/b.tsml", "<b/>")
    try fixture.write("../outside/c.tsml", "<c/>")
    try fixture.link("file.tsml", to: "real/a.tsml")
    try fixture.link("hidden.tsml", to: "..data/b.tsml")
    try fixture.link("folder", to: "..data")
    try fixture.link("again", to: "real")
    try fixture.link("circle", to: ".")
    try fixture.link("self.tsml", to: "self.tsml")
    try fixture.link("up", to: "..")
    try fixture.link("out.tsml", to: "../outside/c.tsml")
    try fixture.link("absolute", to: fixture.folder + "/outside")
    try fixture.link("inside.tsml", to: fixture.root + "/real/a.tsml")
    try fixture.link("password.tsml", to: "/etc/passwd")
    try fixture.link("dangling.tsml", to: "nowhere")
    let listing = try RepositoryFolder(fixture.root).list()
    #expect(
      listing.entries.map(\.path.text) == [
        "file.tsml", "folder/b.tsml", "hidden.tsml", "inside.tsml", "real/a.tsml",
      ])
    #expect(
      listing.problems.map(\.path.text).sorted() == [
        "absolute", "dangling.tsml", "out.tsml", "password.tsml", "self.tsml", "up",
      ])
    let folder = try RepositoryFolder(fixture.root)
    for entry in listing.entries { #expect(try folder.read(entry).bytes.count == 4) }
  }

  @Test func aLinkThatIsTurnedAwayAfterTheListingIsNotFollowed() throws {
    try fixture.write("real/a.tsml", "<a/>")
    try fixture.write("../outside/a.tsml", "<secret/>")
    let folder = try RepositoryFolder(fixture.root)
    let entry = try #require(try folder.list().entries.first)
    try fixture.remove("real")
    try fixture.link("real", to: "../outside")
    #expect(throws: RepositoryFolder.Problem.self) { try folder.read(entry) }
  }

  @Test func whatIsNoFileIsNeitherOpenedNorWaitedFor() throws {
    try #require(mkfifo("\(fixture.root)/pipe.tsml", 0o644) == 0)
    try #require(mkfifo("\(fixture.root)/pipe", 0o644) == 0)
    try fixture.write("folder.tsml/a.tsml", "<a/>")
    let listing = try RepositoryFolder(fixture.root).list()
    #expect(listing.entries.map(\.path.text) == ["folder.tsml/a.tsml"])
    #expect(listing.problems.map(\.path.text) == ["pipe.tsml"])
    // A link is not followed even if it took a file's place after the listing.
    let pipe = RepositoryPath("pipe.tsml")
    #expect(throws: RepositoryFolder.Problem.self) {
      try RepositoryFolder(fixture.root).read(.init(path: pipe, location: pipe))
    }
  }

  @Test func namesNeedNotBeUTF8() throws {
    let name: [UInt8] = [0x63, 0x61, 0x66, 0xe9] + Array(".tsml".utf8)
    let path =
      "\(fixture.root)/".utf8.map { CChar(bitPattern: $0) }
      + name.map { CChar(bitPattern: $0) } + [0]
    let descriptor = open(path, O_CREAT | O_WRONLY, 0o644)
    try #require(descriptor >= 0)
    try #require(write(descriptor, "<a/>", 4) == 4)
    close(descriptor)
    let folder = try RepositoryFolder(fixture.root)
    let entry = try #require(try folder.list().entries.first)
    #expect(entry.path.bytes == name)
    #expect(String(validating: entry.path.bytes, as: UTF8.self) == nil)
    #expect(try folder.read(entry).bytes.array == Array("<a/>".utf8))
  }

  @Test func sizesAreCheckedBeforeReading() throws {
    try fixture.write("a.tsml", "12345678")
    try fixture.write("b.tsml", "123456789")
    try fixture.write("empty.tsml", "")
    let folder = try RepositoryFolder(fixture.root, sizeLimit: 8)
    let entries = try folder.list().entries
    #expect(try folder.read(entries[0]).bytes.count == 8)
    #expect(throws: RepositoryFolder.Problem.self) { try folder.read(entries[1]) }
    #expect(try folder.read(entries[2]).bytes.count == 0)
    // The size of this file is larger than any memory.
    try #require(truncate("\(fixture.root)/b.tsml", 1 << 40) == 0)
    #expect(throws: RepositoryFolder.Problem.self) { try folder.read(entries[1]) }
  }

  @Test func timesAreTheContents() throws {
    try fixture.write("a.tsml", "<a/>", modified: 1_234_567_890)
    let folder = try RepositoryFolder(fixture.root)
    let entry = try #require(try folder.list().entries.first)
    #expect(try folder.read(entry).status.lastModified == Timestamp(seconds: 1_234_567_890))
  }

  @Test func aMissingRootIsToldAndAMissingFileToo() throws {
    #expect(throws: SystemError(ENOENT)) { _ = try RepositoryFolder(fixture.root + "/none") }
    try fixture.write("a.tsml", "<a/>")
    #expect(throws: SystemError(ENOTDIR)) { _ = try RepositoryFolder(fixture.root + "/a.tsml") }
    let folder = try RepositoryFolder(fixture.root)
    let entry = try #require(try folder.list().entries.first)
    try fixture.remove("a.tsml")
    let problem = #expect(throws: RepositoryFolder.Problem.self) { try folder.read(entry) }
    #expect(problem?.isMissing == true)
  }

  @Test func foldersThatNobodyMayReadAreToldAndTheRestIsListed() throws {
    try fixture.write("a.tsml", "<a/>")
    var path = ""
    for _ in 0...RepositoryFolder.depthLimit { path += "d/" }
    try fixture.write(path + "deep.tsml", "<a/>")
    let listing = try RepositoryFolder(fixture.root).list()
    #expect(listing.entries.map(\.path.text) == ["a.tsml"])
    #expect(listing.problems.count == 1)
  }
}
