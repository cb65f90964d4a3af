internal import Cryptography
internal import HTTPProtocol
internal import Observability
internal import ServiceKit
internal import Time

/// One page of the index as an HTML document for people; it needs no script.
///
/// Files, names and signers are other people's words: all are escaped, and isolated from the
/// direction of the text around them.
struct IndexPage: Sendable {
  /// The most rows that a page shows.
  static let limit = 500

  /// What is listed.
  let index: ContractIndex
  /// What was searched for; empty: nothing was.
  let query: String
  /// The page, from 1.
  let number: Int
  /// How many pages there are, at least one.
  let pages: Int
  /// How many rows there are on all of them.
  let count: Int
  /// The refused rows of this page; they come before all others.
  let refused: [IndexRow]
  /// The other rows of this page.
  let others: [IndexRow]
  /// Further pages that the reader may see.
  var links: [PageLink] = []

  /// A page of the rows that are searched for.
  ///
  /// - Parameters:
  ///   - index: what is listed.
  ///   - query: words parted by blanks, in any case, which a row's words must all contain.
  ///   - number: the page, from 1; one outside the range means the nearest inside.
  init(_ index: ContractIndex, query: String = "", number: Int = 1) {
    self.index = index
    self.query = query.split(separator: " ").joined(separator: " ")
    let words = query.lowercased().split(separator: " ")
    let rows = words.isEmpty ? index.rows : index.rows.filter { $0.contains(words) }
    count = rows.count
    pages = max(1, (count + Self.limit - 1) / Self.limit)
    self.number = min(max(1, number), pages)
    let ordered =
      rows.filter { $0.state.summary == .refused } + rows.filter { $0.state.summary != .refused }
    let shown = ordered.dropFirst((self.number - 1) * Self.limit).prefix(Self.limit)
    refused = shown.filter { $0.state.summary == .refused }
    others = shown.filter { $0.state.summary != .refused }
  }

  /// The document.
  var html: String {
    """
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>\(query.isEmpty ? "" : "\(query.htmlEscaped) – ")TokenScript repository</title>
    <style>\(IndexPageStyle.text)</style>
    </head>
    <body>
    <div class="page">
    \(header)
    <main>
    \(findings)\(refusals)\(table)\(navigation)</main>
    <footer>
    <span>Index \(index.generation)</span>
    <a href="/?format=json">All rows as JSON</a>
    \(links.map(\.html).joined(separator: "\n"))
    </footer>
    </div>
    </body>
    </html>

    """
  }

  // MARK: Around the rows

  private var header: String {
    """
    <header>
    <div>
    <h1>TokenScript repository</h1>
    \(counts)
    </div>
    <form method="get" action="/" role="search">
    <input type="search" name="q" value="\(query.htmlEscaped)" aria-label="Search" \
    placeholder="Contract, signer, path, state" autocomplete="off">
    <button>Search</button>
    </form>
    </header>
    """
  }

  /// The sum; each state leads to its rows.
  private var counts: String {
    let counts = index.counts
    let schemas = Set(index.editions.values.joined().map(\.schema)).count
    var items = [Self.counted(index.files.count, "file")]
    for state in IndexRow.Summary.allCases {
      guard let count = counts[state] else { continue }
      items.append(
        "<strong>\(count)</strong> "
          + "<a href=\"\(Self.url(query: state.label).htmlEscaped)\">\(state.label)</a>")
    }
    items.append(Self.counted(index.editions.count, "contract"))
    items.append(Self.counted(schemas, "schema version"))
    let list = items.map { "<li>\($0)</li>" }.joined(separator: "\n")
    return "<ul class=\"counts\">\n\(list)\n</ul>"
  }

  private static func counted(_ count: Int, _ noun: String) -> String {
    "<strong>\(count)</strong> \(noun)\(count == 1 ? "" : "s")"
  }

  /// The links between pages; nothing where all is on one.
  private var navigation: String {
    guard pages > 1 else { return "" }
    var links: [String] = []
    if number > 1 {
      let url = Self.url(query: query, page: number - 1).htmlEscaped
      links.append("<a rel=\"prev\" href=\"\(url)\">← Previous</a>")
    }
    links.append("<span class=\"quiet\">Page \(number) of \(pages)</span>")
    if number < pages {
      let url = Self.url(query: query, page: number + 1).htmlEscaped
      links.append("<a rel=\"next\" href=\"\(url)\">Next →</a>")
    }
    return "<nav aria-label=\"Pages\">\n\(links.joined(separator: "\n"))\n</nav>\n"
  }

  private static func url(query: String, page: Int = 1) -> String {
    let fields = [
      query.isEmpty ? nil : "q=\(PercentEncoding.encode(query))", page == 1 ? nil : "page=\(page)",
    ].compactMap(\.self)
    return fields.isEmpty ? "/" : "/?\(fields.joined(separator: "&"))"
  }

  // MARK: The rows

  /// What a search found, or that there is nothing; nothing where all rows are shown.
  private var findings: String {
    if query.isEmpty {
      return count > 0 ? "" : "<p class=\"found\">There are no files yet.</p>\n"
    }
    let words = count == 0 ? "Nothing matches" : "\(count) of \(index.rows.count) rows match"
    return """
      <p class="found">\(words) “\(Self.foreign(query))”. <a href="/">Show all</a></p>

      """
  }

  /// The refused files of this page with their reasons; nothing where there are none.
  private var refusals: String {
    guard !refused.isEmpty else { return "" }
    let items = refused.map { row in
      var reason = ""
      if case .refused(let refusal) = row.state { reason = refusal.reason }
      let known = [
        row.name.map(Self.foreign),
        row.contract.map { "<span class=\"mono\">\($0.checksummed)</span>" },
        row.signer.map { "signed by \(Self.foreign($0.commonName ?? $0.key))" },
        row.time.map(Self.time), row.digest == nil ? nil : Self.size(row.size),
      ].compactMap(\.self)
      return """
        <li>
        \(Self.path(row.path))
        <p>\(Self.badge(row.state)) \(reason.htmlEscaped)</p>
        \(Self.line("quiet", known.joined(separator: " · ")))\(Self.warnings(row))</li>
        """
    }
    return """
      <h2 id="refused">Refused</h2>
      <ul class="refusals panel">
      \(items.joined(separator: "\n"))
      </ul>

      """
  }

  /// All other rows of this page.
  private var table: String {
    guard !others.isEmpty else { return "" }
    return """
      <h2>Files</h2>
      <div class="panel">
      <table>
      <thead>
      <tr><th class="token">Contract</th><th class="what">State</th>\
      <th class="version">Schema</th><th class="whose">Signer</th><th class="when">Signed</th>\
      <th>File</th></tr>
      </thead>
      \(others.map(group).joined(separator: "\n"))
      </table>
      </div>

      """
  }

  /// A row with its warnings: a card on a narrow screen.
  private func group(_ row: IndexRow) -> String {
    let warnings = Self.warnings(row)
    return """
      <tbody>
      <tr>
      <td>\(contract(row))</td>
      <td data-label="State"><div>\(Self.badge(row.state))\(Self.note(row.state))</div></td>
      <td data-label="Schema">\(row.schema?.path ?? "–")</td>
      <td data-label="Signer"><div>\(Self.signer(row))</div></td>
      <td data-label="Signed">\(row.time.map(Self.time) ?? "–")</td>
      <td data-label="File"><div>\(Self.path(row.path))\
      \(Self.line("quiet", Self.size(row.size)))</div></td>
      </tr>
      \(warnings.isEmpty ? "" : "<tr><td colspan=\"6\">\(warnings)</td></tr>\n")</tbody>
      """
  }

  /// The contract, with a link to what is served for it.
  private func contract(_ row: IndexRow) -> String {
    guard let contract = row.contract, let schema = row.schema else {
      return "<span class=\"quiet\">No contract</span>"
    }
    let address = contract.checksummed
    var shown = "<span class=\"mono\">\(address)</span>"
    if row.state == .served {
      var url = "/\(schema)/\(address)"
      let chosen = index.edition(of: ContractKey(contract), schema)?.chosen ?? []
      if chosen.count > 1, let key = row.signer?.key {
        url += "?signer=\(PercentEncoding.encode(key))"
      }
      shown = "<a class=\"mono\" href=\"\(url.htmlEscaped)\">\(address)</a>"
    }
    let name = row.name.map { "<strong class=\"line\">\(Self.foreign($0))</strong>" } ?? ""
    let chains = row.networks.map { "\($0)" }.joined(separator: ", ")
    let noun = row.networks.count == 1 ? "chain" : "chains"
    return name + shown + Self.line("quiet", chains.isEmpty ? "" : "\(noun) \(chains)")
  }

  private static func signer(_ row: IndexRow) -> String {
    guard let signer = row.signer else {
      return row.state == .gone ? "–" : "<span class=\"quiet\">No valid signature</span>"
    }
    let key = signer.key.htmlEscaped
    return line("", signer.commonName.map(foreign) ?? "")
      + "<span class=\"mono quiet cut\" title=\"\(key)\">\(key)</span>"
      + line("quiet", signer.kind.htmlEscaped)
  }

  /// A path, which breaks behind a slash if it must.
  private static func path(_ path: RepositoryPath) -> String {
    let text = path.text.htmlEscaped
    let breakable = text.replacing("/", with: "/<wbr>")
    return "<span class=\"mono\" title=\"\(text)\"><bdi>\(breakable)</bdi></span>"
  }

  private static func badge(_ state: IndexRow.State) -> String {
    "<span class=\"state \(state.summary.rawValue)\">\(state.summary.label)</span>"
  }

  /// What the state's name leaves out.
  private static func note(_ state: IndexRow.State) -> String {
    switch state {
    case .shadowed(let path): line("quiet", "by \(Self.path(path))")
    case .servesNothing: line("quiet", "it names no contract as its origin")
    case .served, .refused, .gone: ""
    }
  }

  private static func warnings(_ row: IndexRow) -> String {
    guard !row.warnings.isEmpty else { return "" }
    let items = row.warnings.map { "<li>\(foreign($0))</li>" }.joined()
    return "<ul class=\"warnings\" aria-label=\"Warnings\">\(items)</ul>"
  }

  /// A moment to the minute, as `2026-11-21 22:45 UTC`.
  private static func time(_ seconds: Int64) -> String {
    let text = "\(Timestamp(seconds: seconds))"
    let minute = text.prefix(16).replacing("T", with: " ")
    return "<time datetime=\"\(text)\">\(minute) UTC</time>"
  }

  private static func size(_ bytes: Int) -> String {
    bytes < 1000 ? "\(bytes) B" : "\(bytes / 1000).\(bytes % 1000 / 100) kB"
  }

  /// A line of its own; nothing where it would be empty.
  private static func line(_ classes: String, _ html: String) -> String {
    html.isEmpty ? "" : "<span class=\"line \(classes)\">\(html)</span>"
  }

  /// Somebody else's words.
  private static func foreign(_ text: String) -> String { "<bdi>\(text.htmlEscaped)</bdi>" }
}

extension IndexRow.Summary {
  /// The state as the page calls it, which is found in the words of every row in that state.
  fileprivate var label: String { self == .nothing ? "serves nothing" : rawValue }
}
