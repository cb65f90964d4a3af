internal import MsgrResources
internal import Platform
internal import Foundation
internal import HTTPProtocol
internal import TestSupport
internal import Testing

@testable import Msgr
@testable import WebApps

/// The files of the web app, as a browser gets them.
@Suite struct WebAppTests {
  private static let pages = ["", "api", "worker.js", "manifest.webmanifest"]

  private static func files(_ fixture: Fixture) -> [String: WebFile] {
    MsgrWebApp.files(
      serverName: "awd", signup: .open, minimumPassword: 1, clock: { fixture.clock.now }
    ).files
  }

  private func get(
    _ fixture: Fixture, _ name: String, _ fields: [(name: String, value: String)] = []
  ) async throws -> TestResponse {
    try await fixture.request(.get, "/msgr/\(name)", fields: fields)
  }

  /// All that the page, and what it names, loads before it is used: not what is imported or fetched when it is needed.
  @Test func theFirstViewIsSmall() async throws {
    let fixture = try await Fixture()
    var names = ["", "worker.js", "manifest.webmanifest"]
    var size = 0
    var next = 0
    while next < names.count {
      let name = names[next]
      next += 1
      let plain = try await get(fixture, name)
      size += try await get(fixture, name, [("Accept-Encoding", "br")]).bytes.count
      // The worker fetches the rest once the first view is there, and pictures name nothing.
      if name == "worker.js" || name.hasSuffix(".png") { continue }
      let text = String(decoding: plain.bytes, as: UTF8.self)
      for match in text.matches(
        of: /((?:import|fetch)\()?["\.\/]+([a-z0-9-]+\.[0-9a-f]{16}\.[a-z]+)/)
      where match.1 == nil && !names.contains(String(match.2)) {
        names.append(String(match.2))
      }
    }
    #expect(names.count > 12)
    #expect(names.contains { $0.hasPrefix("rich.") })
    #expect(!names.contains { $0.hasPrefix("short-codes.") })
    #expect(size <= 100 << 10, "\(size) bytes")
  }

  @Test func everythingThatPagesNameIsThere() async throws {
    let fixture = try await Fixture()
    let files = Self.files(fixture)
    for name in files.keys {
      let response = try await get(fixture, name)
      #expect(response.status == 200)
      // A picture names nothing.
      if name.hasSuffix(".png") { continue }
      let text = String(decoding: response.bytes, as: UTF8.self)
      #expect(!text.contains("{{"), "\(name)")
      for match in text.matches(of: /[a-z0-9-]+\.[0-9a-f]{16}\.[a-z]+/) {
        #expect(files[String(match.output)] != nil, "\(name) names \(match.output)")
      }
    }
    // The worker keeps all that the page needs.
    let page = String(decoding: try await get(fixture, "").bytes, as: UTF8.self)
    let worker = String(decoding: try await get(fixture, "worker.js").bytes, as: UTF8.self)
    for match in page.matches(of: /[a-z0-9-]+\.[0-9a-f]{16}\.[a-z]+/) {
      #expect(worker.contains(match.output))
    }
  }

  @Test func whatHasADigestIsKeptForGood() async throws {
    let fixture = try await Fixture()
    for name in Self.files(fixture).keys {
      let response = try await get(fixture, name)
      let isPage = Self.pages.contains(name)
      #expect(
        response.fields.first(.cacheControl)
          == (isPage ? "no-cache" : "public, max-age=31536000, immutable"))
      #expect(response.fields.first(.contentTypeOptions) == "nosniff")
      let policy = response.fields.first(.contentSecurityPolicy)
      #expect((policy != nil) == isPage)
      #expect(policy?.contains("unsafe") != true)
      let tag = try #require(response.fields.first(.entityTag))
      let again = try await get(fixture, name, [("If-None-Match", tag)])
      #expect(again.status == 304)
    }
  }

  @Test func textIsCompressed() async throws {
    let fixture = try await Fixture()
    let plain = try await get(fixture, "")
    #expect(plain.fields.first(.contentEncoding) == nil)
    for (accepted, coding) in [("gzip", "gzip"), ("gzip, br", "br"), ("br;q=0, gzip", "gzip")] {
      let response = try await get(fixture, "", [("Accept-Encoding", accepted)])
      #expect(response.fields.first(.contentEncoding) == coding)
      #expect(response.bytes.count < plain.bytes.count)
    }
    let refused = try await get(fixture, "", [("Accept-Encoding", "br;q=0, gzip;q=0")])
    #expect(refused.bytes == plain.bytes)
  }

  @Test func canBeLeftOut() async throws {
    let fixture = try await Fixture("web = false\n")
    for name in Self.pages { #expect(try await get(fixture, name).status == 404) }
    // The interface stays.
    #expect(try await fixture.post("/msgr/contacts", [:]).status == 400)
  }

  @Test func thePageStandsBehindASlash() async throws {
    let response = try await Fixture().request(.get, "/msgr")
    #expect(response.status == 308)
    #expect(response.fields.first(.location) == "/msgr/")
  }
}
