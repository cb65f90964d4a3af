internal import Cryptography
internal import Formats
internal import Foundation
internal import HTTPProtocol
internal import Platform
internal import TestSupport
internal import Testing

@testable import WebApps

@Suite struct WebAppTests {
  private let app = WebApp(
    at: "/app/", fields: [("X-Own", "yes")],
    parts: [
      ("style.css", Array("body { color: red }".utf8)),
      (
        "main.js",
        Array("// \(String(repeating: "long ", count: 400))\nimport '{{style.css}}'".utf8)
      ),
    ],
    pages: [
      (
        "index.html",
        Array("<link href=\"{{style.css}}\"><script src=\"{{main.js}}\"></script>".utf8)
      )
    ],
    worker: Array("const files = {{files}}, version = '{{version}}'".utf8),
    clock: { Timestamp(seconds: 1_700_000_000) })

  private func response(
    _ name: String, _ fields: [(String, String)] = []
  ) throws -> Response? {
    try app.response(
      to: RequestHead(
        method: .get, path: "/app/\(name)", authority: "a.example",
        fields: fields.map { (name: $0.0, value: $0.1) }), file: name)
  }

  private func text(_ response: Response?) -> String {
    switch response?.body {
    case .bytes(let bytes)?: String(decoding: bytes.array, as: UTF8.self)
    case .array(let bytes)?: String(decoding: bytes, as: UTF8.self)
    default: ""
    }
  }

  /// A part's name changes with its content, so that it may be kept for ever; pages and the worker name the parts.
  @Test func partsAreNamedByTheirContent() throws {
    let names = app.fileNames.sorted()
    #expect(names.count == 4 && names.contains("index.html") && names.contains("worker.js"))
    let style = try #require(names.first { $0.hasSuffix(".css") })
    let script = try #require(names.first { $0.hasPrefix("main.") })
    #expect(style.wholeMatch(of: /style\.[0-9a-f]{16}\.css/) != nil)
    let page = try #require(try response("index.html"))
    #expect(text(page).contains("href=\"\(style)\"") && text(page).contains("src=\"\(script)\""))
    #expect(page.fields.first(.cacheControl) == "no-cache")
    #expect(try response(style)?.fields.first(.cacheControl)?.contains("immutable") == true)
    let worker = text(try response("worker.js"))
    #expect(worker.contains("\"\(style)\"") && !worker.contains("{{"))
    #expect(try response("nothing.js") == nil)
  }

  /// What the browser has isn't sent again, and what it can unpack is packed.
  @Test func filesAreSentOnceAndPacked() throws {
    let script = try #require(app.fileNames.first { $0.hasPrefix("main.") })
    let plain = try #require(try response(script))
    let tag = try #require(plain.fields.first(.entityTag))
    #expect(try response(script, [("If-None-Match", tag)])?.status == .notModified)
    #expect(try response(script, [("If-None-Match", "\"other\"")])?.status == .ok)
    for coding in ["gzip", "br"] {
      let packed = try #require(try response(script, [("Accept-Encoding", coding)]))
      #expect(packed.fields.first(.contentEncoding) == coding)
      #expect(packed.fields.first(.vary) == "Accept-Encoding")
    }
    #expect(
      try response(script, [("Accept-Encoding", "identity")])?.fields.first(.contentEncoding) == nil
    )
  }
}

@Suite struct PageStyleTests {
  /// The policy allows exactly the style that the page has.
  @Test func thePolicyNamesTheStyle() throws {
    let style = PageStyle(Array("h1 { color: red }".utf8))
    let digest = Data(SHA256.hash(Array(style.text.utf8)).bytes).base64EncodedString()
    #expect(style.contentSecurityPolicy.contains("style-src 'sha256-\(digest)'"))
    #expect(style.contentSecurityPolicy.contains("form-action 'none'"))
    let page = style.document(title: "<b>&", "<p>text</p>")
    #expect(page.contains("<title>&lt;b&gt;&amp;</title>") && page.contains("<p>text</p>"))
    #expect(page.contains(style.text))
    let response = Response(page: page, style)
    #expect(
      response.fields.first(FieldName("Content-Security-Policy")) == style.contentSecurityPolicy)
    #expect(response.fields.first(FieldName("X-Content-Type-Options")) == "nosniff")
  }

  @Test func aLinkIsEscaped() {
    let link = PageLink("A <b>", url: "/x?a=1&b=\"2\"")
    #expect(link.html == "<a href=\"/x?a=1&amp;b=&quot;2&quot;\">A &lt;b&gt;</a>")
  }
}
