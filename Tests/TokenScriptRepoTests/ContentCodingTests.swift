internal import Formats
internal import Cryptography
internal import HTTPProtocol
internal import Storage
internal import Platform
internal import TestSupport
internal import Testing

@testable import TokenScriptRepo

/// Tests of compressed variants: the choice, the entity tags, and their reuse.
@Suite(.ownThreads) struct ContentCodingTests {
  private static let rules = "signature = \"off\"\ntrust = \"off\""
  private let fixture: RepositoryFixture
  private let text = tokenScript(for: alice, note: String(repeating: "compress me ", count: 500))

  init() throws { fixture = try RepositoryFixture() }

  private func server(_ toml: String = "", store: Store? = nil) async throws -> RepositoryServer {
    let server = try await fixture.server(Self.rules + "\n" + toml, store: store)
    await server.service.indexer.contentPass?.wait()
    return server
  }

  @Test(arguments: [
    (nil, nil), ("", nil), ("identity", nil), ("gzip", "gzip"), ("br", "br"), ("GZip", "gzip"),
    ("gzip, deflate, br", "br"), ("br;q=0.5, gzip", "gzip"), ("gzip;q=0.5, br;q=0.9", "br"),
    ("*", "br"), ("*, br;q=0", "gzip"), ("*;q=0.5, identity", nil), ("identity, gzip", "gzip"),
    ("identity;q=0.5, gzip;q=0.4", nil), ("gzip;q=0.1", "gzip"), ("gzip;q=0", nil),
    ("gzip;q=0.001", "gzip"), ("identity;q=0", nil), ("identity;q=0, gzip", "gzip"),
    ("*;q=0", nil), ("deflate, zstd", nil), ("gzip;q=x", nil),
  ])
  func theCodingIsTheOneThatTheClientLikesBest(accept: String?, coding: String?) async throws {
    try fixture.write("a.tsml", text)
    let fields = accept.map { ["Accept-Encoding": $0] } ?? [:]
    let response = try await server().get("/\(alice)", fields)
    #expect(response.status == .ok)
    #expect(response[.contentEncoding] == coding)
    #expect(response[.vary] == "Accept, Accept-Encoding")
    #expect(response[.contentType] == "text/xml; charset=UTF-8")
    let bytes = Array(text.utf8)
    let expected =
      switch coding {
      case "gzip": Compression.gzip(bytes.span.bytes)
      case "br": Compression.brotli(bytes.span.bytes)
      default: bytes
      }
    #expect(response.bytes == expected)
  }

  @Test func conditionsCompareWithTheTagOfTheChosenCoding() async throws {
    try fixture.write("a.tsml", text, modified: 1_500_000_000)
    let server = try await server()
    let codings = ["identity", "gzip", "br"]
    var tags: [String: String] = [:]
    for coding in codings {
      let response = try await server.get("/\(alice)", ["Accept-Encoding": coding])
      let tag = try #require(response[.entityTag])
      #expect(tag.hasPrefix("\""))
      #expect(response[.lastModified] == "Fri, 14 Jul 2017 02:40:00 GMT")
      tags[coding] = tag
    }
    #expect(Set(tags.values).count == 3)
    for asked in codings {
      for (coding, tag) in tags {
        let response = try await server.get(
          "/\(alice)", ["Accept-Encoding": asked, "If-None-Match": tag])
        #expect(response.status == (asked == coding ? .notModified : .ok))
        #expect(response[.entityTag] == tags[asked])
        if response.status == .notModified {
          #expect(response[.contentEncoding] == nil)
          #expect(response[.vary] == "Accept, Accept-Encoding")
          #expect(response.bytes.isEmpty)
        }
      }
      let since = try await server.get(
        "/\(alice)",
        ["Accept-Encoding": asked, "If-Modified-Since": "Fri, 14 Jul 2017 02:40:00 GMT"])
      #expect(since.status == .notModified)
      #expect(since[.entityTag] == tags[asked])
      let head = try await server.get("/\(alice)", ["Accept-Encoding": asked], method: .head)
      #expect(head[.entityTag] == tags[asked])
      #expect(head[.contentEncoding] == (asked == "identity" ? nil : asked))
    }
  }

  @Test func aVariantIsSentOnlyIfItIsSmaller() {
    let content = FileContent(Bytes(Array("<a/>".utf8)), digest: SHA256.hash([1]))
    content.compress()
    #expect(content.variants != nil)
    #expect(content.variants?.gzip == nil)
    #expect(content.variants?.brotli == nil)
  }

  @Test func untilThereAreVariantsTheFileIsServedAsItIs() throws {
    let bytes = Array(text.utf8)
    let content = FileContent(Bytes(bytes), digest: SHA256.hash([1]))
    let file = PreparedFile(
      content, modified: Timestamp(seconds: 0), ResponseHeaders(dependsOnClient: false))
    let head = try RequestHead(
      method: .get, path: "/", authority: "localhost", fields: [("Accept-Encoding", "gzip")])
    let before = try file.response(to: head, now: HTTPDate(1))
    #expect(before[.contentEncoding] == nil)
    #expect(before.bytes == bytes)
    content.compress()
    let after = try file.response(to: head, now: HTTPDate(1))
    #expect(after[.contentEncoding] == "gzip")
    #expect(after.bytes.count < bytes.count)
    #expect(after[.entityTag] != before[.entityTag])
  }

  @Test func whatStaysTheSameIsNotCompressedAgain() async throws {
    try fixture.write("a.tsml", text)
    try fixture.write("../schemas/2019/05/tokenscript.xsd", "<a>\(text)</a>")
    let server = try await server("schemas = \"\(fixture.folder)/schemas\"")
    func variant(_ path: String) async throws -> Bytes {
      let response = try await server.get(path, ["Accept-Encoding": "gzip"])
      guard case .bytes(let bytes) = response.body, response[.contentEncoding] == "gzip" else {
        throw SystemError(0)
      }
      return bytes
    }
    let file = try await variant("/\(alice)")
    let schema = try await variant("/2019/05/tokenscript.xsd")
    try fixture.move("a.tsml", to: "b.tsml")
    try fixture.write("c.tsml", tokenScript("2019/06", for: alice))
    try await server.service.reload()
    #expect(try await variant("/2019/05/\(alice)") === file)
    #expect(try await variant("/2019/05/tokenscript.xsd") === schema)
  }
}
