package import HTTPProtocol
package import Platform

internal import Cryptography
internal import Formats
internal import WebAppsResources

/// The page at which people use a service, with all that belongs to it.
///
/// The files are built into the program. Those that others load have a digest in their names, so that browsers keep them
/// for good and never mix two versions.
package struct WebApp: Sendable {
  /// A file's name and its bytes, in which `{{name}}` stands for the name under which another one is served.
  package typealias Source = (name: String, bytes: [UInt8])

  /// The style of every app of people, `style.css`.
  package static var style: Source { ("style.css", Resource(webapps_style_css()).bytes) }
  /// The parts of which the views of every app of people are made: the languages, the words, the icons, and `view.js`.
  package static var views: [Source] {
    [
      ("de.js", Resource(webapps_de_js()).bytes), ("es.js", Resource(webapps_es_js()).bytes),
      ("words.js", Resource(webapps_words_js()).bytes),
      ("icons.js", Resource(webapps_icons_js()).bytes),
      ("view.js", Resource(webapps_view_js()).bytes),
    ]
  }

  private static let types = [
    "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8",
    "png": "image/png", "svg": "image/svg+xml", "txt": "text/plain; charset=utf-8",
    "webmanifest": "application/manifest+json",
  ]

  /// The files by their paths below the app's.
  private(set) var files: [String: WebFile] = [:]
  /// The names under which pages and scripts find others, by the names in the sources.
  private var names: [String: String] = [:]
  /// The operator's name for the server, as HTML.
  private let serverName: String
  /// The path of the app, without the slash at its end.
  package let path: String
  private let fields: [(name: StaticString, value: String)]
  private let modified: HTTPDate
  private let clock: @Sendable () -> Timestamp

  /// Prepares the files.
  ///
  /// - Parameters:
  ///   - path: the path of the app, without the slash at its end.
  ///   - parts: the files with a digest in their names, each after those that it names.
  ///   - pages: the files that keep their names; that of the app itself is empty.
  ///   - worker: `worker.js`, to which `{{files}}` are those that it keeps and `{{version}}` the digest of all of them.
  ///   - apart: the names of parts that the worker doesn't keep.
  ///   - serverName: the operator's name for the server, which stands for `{{server}}` in pages.
  ///   - clock: returns the time; the present time counts as that of modification, as the program may have been replaced.
  package init(
    at path: String, fields: [(name: StaticString, value: String)], parts: [Source],
    pages: [Source], worker: [UInt8], apart: Set<String> = [], serverName: String = "awd",
    clock: @escaping @Sendable () -> Timestamp
  ) {
    self.path = path
    self.fields = fields
    self.clock = clock
    self.serverName = serverName.htmlEscaped
    modified = HTTPDate(clock().seconds)
    for part in parts {
      // Pictures name nothing.
      let content = part.name.hasSuffix(".png") ? part.bytes : Array(text(part.bytes).utf8)
      let name = part.name.split(separator: ".")
      let digested = "\(name[0]).\(Self.digest(content)).\(name[1])"
      names[part.name] = digested
      // The name has a digest of the content, so that it never changes.
      files[digested] = WebFile(
        content, type: Self.type(of: part.name),
        caching: "public, max-age=31536000, immutable", modified: modified)
    }
    for page in pages { add(page) }
    let kept = ["./"] + names.filter { !apart.contains($0.key) }.values.sorted()
    let list = JSONWriter.list { list in
      for name in kept { list.append(name) }
    }
    names["files"] = String(decoding: list, as: UTF8.self)
    names["version"] = Self.digest(
      Array((kept.joined() + (pages.first.map { text($0.bytes) } ?? "")).utf8))
    add(("worker.js", worker))
  }

  private mutating func add(_ page: Source) {
    files[page.name] = WebFile(
      Array(text(page.bytes).utf8), type: Self.type(of: page.name), caching: "no-cache",
      fields: fields, modified: modified)
  }

  /// Puts the names of other files into a source.
  private func text(_ source: [UInt8]) -> String {
    names.reduce(String(decoding: source, as: UTF8.self)) { text, name in
      text.replacing("{{\(name.key)}}", with: name.value)
    }.replacing("{{server}}", with: serverName)
  }

  private static func type(of name: String) -> String {
    name.split(separator: ".").last.flatMap { types[String($0)] } ?? "text/html; charset=utf-8"
  }

  private static func digest(_ content: [UInt8]) -> String {
    Hex.encode(SHA256.hash(content).bytes.prefix(8))
  }

  /// The names of all files below the app's path.
  package var fileNames: [String] { Array(files.keys) }

  /// Responds to a request for one of the app's files, or nil if there is none of this name.
  ///
  /// - Throws: 412 if the request demands another state than the file's.
  package func response(to head: RequestHead, file name: String) throws(HTTPError) -> Response? {
    try files[name]?.response(to: head, now: HTTPDate(clock().seconds))
  }
}
