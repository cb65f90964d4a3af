internal import Cryptography
internal import HTTPProtocol
internal import Routing
internal import Time

/// The page at which people use the service, with all that belongs to it.
///
/// The files are built into the program. Those that others load have a digest in their names, so that browsers keep them
/// for good and never mix two versions.
struct WebApp: Sendable {
  /// The policy of pages and of the service worker: nothing from elsewhere, nothing within the page.
  private static let policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    + "manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; "
    + "frame-ancestors 'none'; require-trusted-types-for 'script'"
  private static let script = "text/javascript; charset=utf-8"
  private static let page = "text/html; charset=utf-8"

  /// The files by their paths below ``MsgrRoutes/prefix``.
  private(set) var files: [String: WebFile] = [:]
  /// The names under which pages and scripts find others, by the names in the sources.
  private var names: [String: String] = [:]
  private let modified: HTTPDate
  private let clock: @Sendable () -> Timestamp

  /// Prepares the files.
  ///
  /// - Parameter clock: tells the time; the present time counts as that of modification, as the program may have been
  ///   replaced.
  init(clock: @escaping @Sendable () -> Timestamp) {
    self.clock = clock
    modified = HTTPDate(clock().seconds)
    // Each after those that it names.
    addDigested("icon.svg", PackageResources.icon_svg, "image/svg+xml")
    addDigested("style.css", PackageResources.style_css, "text/css; charset=utf-8")
    addDigested("msgr.js", PackageResources.msgr_js, Self.script)
    addDigested("archive.js", PackageResources.archive_js, Self.script)
    addDigested("page.js", PackageResources.page_js, Self.script)
    addDigested("settings.js", PackageResources.settings_js, Self.script)
    addDigested("app.js", PackageResources.app_js, Self.script)
    addDigested("api.js", PackageResources.api_js, Self.script)
    add("", PackageResources.index_html, Self.page)
    add("api", PackageResources.api_html, Self.page)
    add(
      "manifest.webmanifest", PackageResources.manifest_webmanifest, "application/manifest+json")
    let kept = ["./"] + names.filter { $0.key != "api.js" }.values.sorted()
    names["files"] = "[" + kept.map { "\"\($0)\"" }.joined(separator: ", ") + "]"
    names["version"] = Self.digest(kept.joined() + text(PackageResources.index_html))
    add("worker.js", PackageResources.worker_js, Self.script)
  }

  private mutating func addDigested(_ name: String, _ source: [UInt8], _ type: String) {
    let content = Array(text(source).utf8)
    let parts = name.split(separator: ".")
    let digest = Self.digest(String(decoding: content, as: UTF8.self))
    let digested = "\(parts[0]).\(digest).\(parts[1])"
    names[name] = digested
    files[digested] = WebFile(content, type: type, .forever, modified: modified)
  }

  private mutating func add(_ name: String, _ source: [UInt8], _ type: String) {
    files[name] = WebFile(
      Array(text(source).utf8), type: type, .askFirst, policy: Self.policy, modified: modified)
  }

  /// Puts the names of other files into a source.
  private func text(_ source: [UInt8]) -> String {
    names.reduce(String(decoding: source, as: UTF8.self)) { text, name in
      text.replacing("{{\(name.key)}}", with: name.value)
    }
  }

  private static func digest(_ text: String) -> String {
    Hex.encode(SHA256.hash(Array(text.utf8)).bytes.prefix(8))
  }

  /// Registers the pages and their files.
  func register(on router: inout Router) {
    for (name, file) in files {
      router.get("\(MsgrRoutes.prefix)/\(name)") { request, _ in
        try file.response(to: request.head, now: HTTPDate(clock().seconds))
      }
    }
    router.get(MsgrRoutes.prefix) { _, _ in
      var response = Response(.permanentRedirect)
      response.fields.append(.location, "\(MsgrRoutes.prefix)/")
      return response
    }
  }
}
