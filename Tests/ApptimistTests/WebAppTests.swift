internal import ApptimistResources
internal import Platform
internal import Foundation
internal import HTTPProtocol
internal import Observability
internal import Routing
internal import TestSupport
internal import Testing
internal import Formats

@testable import Apptimist
@testable import WebApps

/// The files of the web app, as a browser gets them.
@Suite struct WebAppTests {
  private let clock = TestClock()
  private let app: WebApp
  private let table: RouteTable

  init() throws {
    let clock = clock
    app = ApptimistWebApp.files(at: "/siren/app", serverName: "Bücher & more", clock: { clock.now })
    var router = Router(service: "apptimist")
    router.register(app)
    table = try RouteTable([router], log: Log(level: .error))
  }

  private func get(_ name: String, accepting coding: String = "identity") async throws -> Response {
    let head = try RequestHead(
      method: .get, path: "/siren/app\(name)", authority: "h", fields: [("Accept-Encoding", coding)]
    )
    return await table.respond(
      to: Request(head: head, body: [], origin: RequestOrigin(peer: "127.0.0.1")))
  }

  private func text(_ response: Response) throws -> String {
    guard case .bytes(let bytes) = response.body else { return "" }
    return String(decoding: bytes.array, as: UTF8.self)
  }

  @Test func everythingThatIsNamedIsThere() async throws {
    for name in app.files.keys {
      let response = try await get("/\(name)")
      #expect(response.status == .ok)
      let text = try text(response)
      #expect(text.firstMatch(of: /\{\{[a-z.-]+\}\}/) == nil, "\(name)")
      for match in text.matches(of: /[a-z-]+\.[0-9a-f]{16}\.[a-z]+/) {
        #expect(app.files[String(match.output)] != nil, "\(name) names \(match.output)")
      }
    }
    // The worker keeps all that there is.
    let worker = try text(try await get("/worker.js"))
    for name in app.files.keys where name.firstMatch(of: /[0-9a-f]{16}/) != nil {
      #expect(worker.contains("\"\(name)\""))
    }
  }

  @Test func theFirstViewIsSmall() async throws {
    // All that the page, and what it names, loads before it is used: not what is imported when it is needed.
    var (names, size) = (["", "worker.js", "manifest.webmanifest"], 0)
    var next = 0
    while next < names.count {
      let plain = try text(try await get("/\(names[next])"))
      let response = try await get("/\(names[next])", accepting: "br")
      guard case .bytes(let bytes) = response.body else { continue }
      size += bytes.count
      // The worker fetches the rest once the first view is there.
      let isWorker = names[next] == "worker.js"
      for match in plain.matches(of: /(import\()?[\".\/]+([a-z-]+\.[0-9a-f]{16}\.[a-z]+)/)
      where !isWorker && match.1 == nil && !names.contains(String(match.2)) {
        names.append(String(match.2))
      }
      next += 1
    }
    #expect(names.count > 12)
    #expect(!names.contains { $0.hasPrefix("qrcode") })
    #expect(size <= 100 << 10, "\(size) bytes")
  }

  @Test func pagesHaveAPolicy() async throws {
    for name in ["/", "/worker.js", "/manifest.webmanifest"] {
      let fields = try await get(name).fields
      let policy = try #require(fields.first(.contentSecurityPolicy))
      #expect(policy.hasPrefix("default-src 'none'; script-src 'self';"))
      #expect(policy.hasSuffix("require-trusted-types-for 'script'; trusted-types worker"))
      #expect(!policy.contains("unsafe"))
      #expect(fields.first(FieldName("Cross-Origin-Opener-Policy")) == "same-origin")
      #expect(fields.first(.cacheControl) == "no-cache")
    }
  }

  @Test func thePageStandsBehindASlash() async throws {
    let response = try await get("")
    #expect(response.status == .permanentRedirect)
    #expect(response.fields.first(.location) == "/siren/app/")
  }

  @Test(.enabled(if: FileManager.default.fileExists(atPath: Self.tweetNaCl)))
  func tweetNaClIsAsItWasPublished() throws {
    let debian = try String(contentsOfFile: Self.tweetNaCl, encoding: .utf8)
    #expect(debian == String(decoding: Resource(apptimist_nacl_fast_js()).bytes, as: UTF8.self))
  }

  @Test(.enabled(if: FileManager.default.fileExists(atPath: Self.codes)))
  func theGeneratorOfCodesIsAsItWasPublished() throws {
    let debian = try String(contentsOfFile: Self.codes, encoding: .utf8)
    #expect(debian == String(decoding: Resource(apptimist_qrcode_js()).bytes, as: UTF8.self))
  }

  private static let codes = "/usr/share/nodejs/qrcode-generator/qrcode.js"
  private static let tweetNaCl = "/usr/share/nodejs/tweetnacl/nacl-fast.js"
}
