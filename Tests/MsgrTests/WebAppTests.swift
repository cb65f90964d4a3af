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

  private func get(
    _ fixture: Fixture, _ name: String, _ fields: [(name: String, value: String)] = []
  ) async throws -> TestResponse {
    try await fixture.request(.get, "/msgr/\(name)", fields: fields)
  }

  @Test func isSmall() {
    let files = [
      Resource(msgr_api_html()).bytes, Resource(msgr_api_js()).bytes, Resource(msgr_app_js()).bytes,
      Resource(msgr_archive_js()).bytes, Resource(msgr_icon_svg()).bytes,
      Resource(msgr_index_html()).bytes,
      Resource(msgr_manifest_webmanifest()).bytes, Resource(msgr_msgr_js()).bytes,
      Resource(msgr_page_js()).bytes,
      Resource(msgr_settings_js()).bytes, WebApp.style.bytes,
      Resource(msgr_worker_js()).bytes, Resource(msgr_icon_180_png()).bytes,
    ]
    let views = WebApp.views.filter { !["de.js", "es.js"].contains($0.name) }.map(\.bytes)
    #expect((files + views).reduce(0) { $0 + $1.count } <= 100 << 10)
  }

  @Test func everythingThatPagesNameIsThere() async throws {
    let fixture = try await Fixture()
    let files = MsgrWebApp.files(clock: { fixture.clock.now }).files
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
    for name in MsgrWebApp.files(clock: { fixture.clock.now }).files.keys {
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
