internal import HTTPProtocol
internal import Pages

extension IndexPage {
  /// The page as an HTML document, which needs no script.
  var html: String {
    PageStyle.index.document(
      title: "\(query.isEmpty ? "" : "\(query) – ")TokenScript repository",
      """
      \(header)
      <main>
      \(findings)\(refusals)\(table)\(navigation)</main>
      <footer>
      <span>Index \(index.generation)</span>
      <a href="/?format=json">Rows as JSON</a>
      \(links.map(\.html).joined(separator: "\n"))
      </footer>
      """)
  }

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

  /// The sum, with a link to the rows of each state.
  private var counts: String {
    let counts = index.counts
    var items = [Self.counted(index.files.count, "file")]
    for state in IndexRow.Summary.allCases {
      guard let count = counts[state] else { continue }
      items.append(
        "<strong>\(count)</strong> "
          + "<a href=\"\(Self.url(query: state.label).htmlEscaped)\">\(state.label)</a>")
    }
    items.append(Self.counted(index.editions.count, "contract"))
    items.append(Self.counted(index.schemaCount, "schema version"))
    let list = items.map { "<li>\($0)</li>" }.joined(separator: "\n")
    return "<ul class=\"counts\">\n\(list)\n</ul>"
  }

  private static func counted(_ count: Int, _ noun: String) -> String {
    "<strong>\(count)</strong> \(noun)\(count == 1 ? "" : "s")"
  }

  /// The links between pages, or an empty string if there is only one.
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

  /// The result of a search in words, or an empty string if all rows are shown.
  private var findings: String {
    if query.isEmpty {
      return count > 0 ? "" : "<p class=\"found\">There are no files yet.</p>\n"
    }
    let words = count == 0 ? "Nothing matches" : "\(count) of \(index.rows.count) rows match"
    return """
      <p class="found">\(words) “\(query.isolatedHTML)”. <a href="/">Show all</a></p>

      """
  }

  /// The refused files of the page with their reasons, or an empty string.
  private var refusals: String {
    guard !refused.isEmpty else { return "" }
    let items = markup(refused).map(\.refusal)
    return """
      <h2 id="refused">Refused</h2>
      <ul class="refusals panel">
      \(items.joined(separator: "\n"))
      </ul>

      """
  }

  /// The other rows of the page, or an empty string.
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
      \(markup(others).map(\.tableGroup).joined(separator: "\n"))
      </table>
      </div>

      """
  }
}

extension IndexRow.Summary {
  /// The state on the page; a search for it finds the rows in that state.
  var label: String { self == .nothing ? "serves nothing" : rawValue }
}
