internal import Cryptography
internal import Ethereum
internal import HTTPProtocol
internal import Pages
internal import Time
internal import TokenScriptReading

/// A row of the index as HTML.
///
/// Paths, names and signers are other people's words: all are escaped, and isolated from the direction of the text
/// around them.
struct IndexRowMarkup {
  private let row: IndexRow
  private let index: ContractIndex
  private let hasWarnings: Bool

  /// Makes the markup of a row.
  ///
  /// - Parameters:
  ///   - row: the row.
  ///   - index: the index that the row belongs to.
  ///   - withWarnings: whether the warnings about the file are shown.
  init(_ row: IndexRow, in index: ContractIndex, withWarnings: Bool = true) {
    self.row = row
    self.index = index
    hasWarnings = withWarnings && !row.warnings.isEmpty
  }

  /// The row as an item of the list of refused files.
  var refusal: String {
    var reason = ""
    if case .refused(let refusal) = row.state { reason = refusal.reason }
    let facts = [
      row.name?.isolatedHTML,
      row.contract.map { "<span class=\"mono\">\($0.checksummed)</span>" },
      row.signer.map { "signed by \(($0.commonName ?? $0.key).isolatedHTML)" },
      row.time.map(Self.time), row.digest == nil ? nil : size,
    ].compactMap(\.self)
    return """
      <li>
      \(Self.path(row.path))
      <p>\(badge) \(reason.htmlEscaped)</p>
      \(Self.line("quiet", facts.joined(separator: " · ")))\(warnings)</li>
      """
  }

  /// The row as a group of the table, with its warnings; a card on a narrow screen.
  var tableGroup: String {
    let warnings = warnings
    return """
      <tbody>
      <tr>
      <td>\(contract)</td>
      <td data-label="State"><div>\(badge)\(note)</div></td>
      <td data-label="Schema">\(row.schema?.path ?? "–")</td>
      <td data-label="Signer"><div>\(signer)</div></td>
      <td data-label="Signed">\(row.time.map(Self.time) ?? "–")</td>
      <td data-label="File"><div>\(Self.path(row.path))\
      \(Self.line("quiet", size))</div></td>
      </tr>
      \(warnings.isEmpty ? "" : "<tr><td colspan=\"6\">\(warnings)</td></tr>\n")</tbody>
      """
  }

  /// The contract, with a link to the file that is served for it.
  private var contract: String {
    guard let contract = row.contract else { return "<span class=\"quiet\">No contract</span>" }
    let address = contract.checksummed
    var shown = "<span class=\"mono\">\(address)</span>"
    if let url { shown = "<a class=\"mono\" href=\"\(url.htmlEscaped)\">\(address)</a>" }
    let name = row.name.map { "<strong class=\"line\">\($0.isolatedHTML)</strong>" } ?? ""
    let chains = row.chains.map {
      "<a href=\"/contracts/\($0)/\(address)\">\($0.title.htmlEscaped)</a>"
    }
    return name + shown + Self.line("quiet", chains.joined(separator: ", "))
  }

  /// The URL that gives the file of a served row.
  private var url: String? {
    guard row.state == .served, let contract = row.contract, let schema = row.schema else {
      return nil
    }
    let chains = index.edition(of: ContractKey(contract), schema)?.chains ?? []
    let served = chains.first { $0.chosen.contains { $0.file.path == row.path } }
    let chain = chains.count > 1 ? served.map { "chain/\($0.chain)/" } ?? "" : ""
    let isChoice = (served?.chosen.count ?? 1) > 1
    let query = isChoice ? row.signer.map { "?signer=\(PercentEncoding.encode($0.key))" } ?? "" : ""
    return "/\(schema)/\(chain)\(contract.checksummed)\(query)"
  }

  private var signer: String {
    guard let signer = row.signer else {
      if row.state == .gone { return "–" }
      let words = index.rules.signature == .off ? "Not checked" : "No valid signature"
      return "<span class=\"quiet\">\(words)</span>"
    }
    let key = signer.key.htmlEscaped
    return Self.line("", signer.commonName?.isolatedHTML ?? "")
      + "<span class=\"mono quiet cut\" title=\"\(key)\">\(key)</span>"
      + Self.line(
        "quiet",
        ([signer.kind, row.standing?.rawValue].compactMap(\.self)).joined(separator: ", ")
          .htmlEscaped)
  }

  private var badge: String { Self.badge(row.state) }

  /// The state in a word.
  static func badge(_ state: IndexRow.State) -> String {
    "<span class=\"state \(state.summary.rawValue)\">\(state.summary.label)</span>"
  }

  /// The details that the badge leaves out.
  private var note: String {
    switch row.state {
    case .shadowed(let path): Self.line("quiet", "by \(Self.path(path))")
    case .servesNothing: Self.line("quiet", "it names no contract as its origin")
    case .served, .refused, .gone: ""
    }
  }

  private var warnings: String { hasWarnings ? Self.warnings(row.warnings) : "" }

  /// A list of warnings, or an empty string without any.
  static func warnings(_ warnings: [String]) -> String {
    guard !warnings.isEmpty else { return "" }
    let items = warnings.map { "<li>\($0.isolatedHTML)</li>" }.joined()
    return "<ul class=\"warnings\" aria-label=\"Warnings\">\(items)</ul>"
  }

  private var size: String { Self.size(row.size) }

  /// A number of bytes, as `12.3 kB`.
  static func size(_ size: Int) -> String {
    size < 1000 ? "\(size) B" : "\(size / 1000).\(size % 1000 / 100) kB"
  }

  /// A path, which a browser may break behind a slash.
  static func path(_ path: RepositoryPath) -> String {
    let text = path.text.htmlEscaped
    let breakable = text.replacing("/", with: "/<wbr>")
    return "<span class=\"mono\" title=\"\(text)\"><bdi>\(breakable)</bdi></span>"
  }

  /// A moment to the minute, as `2026-11-21 22:45 UTC`.
  static func time(_ time: Timestamp) -> String {
    let text = time.description
    let minute = text.prefix(16).replacing("T", with: " ")
    return "<time datetime=\"\(text)\">\(minute) UTC</time>"
  }

  /// A line of its own, or an empty string without content.
  private static func line(_ classes: String, _ html: String) -> String {
    html.isEmpty ? "" : "<span class=\"line \(classes)\">\(html)</span>"
  }
}

extension String {
  /// The text escaped, and isolated from the direction of the text around it.
  var isolatedHTML: String { "<bdi>\(htmlEscaped)</bdi>" }
}
