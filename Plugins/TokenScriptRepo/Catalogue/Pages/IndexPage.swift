internal import Cryptography
internal import Ethereum
internal import Formats
internal import HTTPProtocol
internal import Platform
internal import Routing
internal import ServiceKit
internal import TokenScriptRepoResources
internal import WebApps

/// One page of the index: the rows that match a search, in parts.
struct IndexPage: Sendable {
  /// The path of the page.
  static let path = "/tokenscripts"
  /// The largest number of rows on a page.
  static let limit = 500

  /// The largest number of bytes in a search.
  static let queryLimit = 256
  /// The largest number of words in a search.
  static let wordLimit = 8

  /// The index.
  let index: ContractIndex
  /// The search text, or an empty string.
  let query: String
  /// The number of the page, from 1.
  let number: Int
  /// The number of pages, at least one.
  let pages: Int
  /// The number of rows on all pages.
  let count: Int
  /// The refused rows of the page; refused rows come before all others.
  let refused: [IndexRow]
  /// The other rows of the page.
  let others: [IndexRow]
  /// The links to further pages that the reader may see.
  var links: [PageLink] = []

  /// Returns whether a search is larger than any that is made.
  static func isTooLong(_ query: String) -> Bool {
    query.utf8.count > queryLimit || query.split(separator: " ").count > wordLimit
  }

  /// Makes a page.
  ///
  /// - Parameters:
  ///   - query: words separated by blanks, in any case; a row must contain all of them.
  ///   - number: the page, from 1; a number outside the range selects the nearest page.
  init(_ index: ContractIndex, query: String = "", number: Int = 1) {
    self.index = index
    self.query = query.split(separator: " ").joined(separator: " ")
    let found = index.search.rows(with: query.lowercased().split(separator: " ").map(String.init))
    count = found.count
    pages = max(1, (count + Self.limit - 1) / Self.limit)
    self.number = min(max(1, number), pages)
    let shown = found.dropFirst((self.number - 1) * Self.limit).prefix(Self.limit)
      .map { index.rows[$0] }
    refused = shown.filter { $0.state.summary == .refused }
    others = shown.filter { $0.state.summary != .refused }
  }
}

extension IndexPage {
  private static let template = PageTemplate(Resource(tokenscript_index_html()).bytes)

  /// The page as an HTML document, which needs no script.
  var html: String {
    PageStyle.index.document(
      title: "\(query.isEmpty ? "" : "\(query) – ")TokenScript repository",
      Self.template.html([
        "counts": counts, "query": query, "isEmpty": query.isEmpty && count == 0,
        "found": found,
        "hasRefused": !refused.isEmpty, "refused": values(of: refused),
        "hasOthers": !others.isEmpty, "others": values(of: others),
        "numbers": pages > 1 ? "Page \(number) of \(pages)" : nil,
        "previous": number > 1 ? Self.url(query: query, page: number - 1) : nil,
        "next": number < pages ? Self.url(query: query, page: number + 1) : nil,
        "generation": "\(index.generation)",
        "links": links.map(\.html).joined(separator: "\n"),
      ]))
  }

  /// How many rows match, in words.
  private var found: String {
    guard count > 0 else { return "Nothing matches" }
    let verb = count == 1 ? "matches" : "match"
    return "\(count) of \(quantity(index.rows.count, "row")) \(verb)"
  }

  /// The sum, with a link to the rows of each state.
  private var counts: [PageTemplate.Values] {
    func item(_ count: Int, _ noun: String, url: String? = nil) -> PageTemplate.Values {
      let isPlural = url == nil && count != 1
      return ["count": "\(count)", "noun": isPlural ? "\(noun)s" : noun, "url": url]
    }
    let states = IndexRow.Summary.allCases.compactMap { state in
      index.counts[state].map { item($0, state.label, url: Self.url(query: state.label)) }
    }
    return [item(index.files.count, "file")] + states + [
      item(index.editions.count, "contract"), item(index.schemaCount, "schema version"),
    ]
  }

  private static func url(query: String, page: Int = 1) -> String {
    let fields = [
      query.isEmpty ? nil : "q=\(PercentEncoding.encode(query))", page == 1 ? nil : "page=\(page)",
    ].compactMap(\.self)
    return fields.isEmpty ? path : "\(path)?\(fields.joined(separator: "&"))"
  }

  /// Returns the values of rows, with a file's warnings at the first of its rows only.
  private func values(of rows: [IndexRow]) -> [PageTemplate.Values] {
    var seen: Set<RepositoryPath> = []
    return rows.map { row in
      var values = row.values
      if !seen.insert(row.path).inserted { values["warnings"] = nil }
      let address = row.contract?.checksummed
      guard row.state.summary != .refused else {
        let facts = [
          row.name?.isolatedHTML, address.map { "<span class=\"mono\">\($0)</span>" },
          row.signer.map { "signed by \($0.name.isolatedHTML)" },
          row.time.map(Markup.time), row.digest == nil ? nil : Markup.size(row.size),
        ]
        values["facts"] = facts.compactMap(\.self).joined(separator: " · ")
        return values
      }
      let pages = row.chains.map { (chain: $0, url: "/contracts/\($0)/\(address ?? "")") }
      let chains = pages.map { "<a href=\"\($0.url)\">\($0.chain.title.htmlEscaped)</a>" }
      values["address"] = address
      values["name"] = row.name
      // A person gets to the page about the contract; the file itself is for programs.
      values["contract"] = pages.first?.url
      values["url"] = index.url(of: row)
      values["chains"] = chains.joined(separator: ", ")
      values["schema"] = row.schema?.path ?? "–"
      values["time"] = row.time.map(Markup.time) ?? "–"
      if row.signer != nil {
        values["standing"] = [row.signer?.kind, row.standing?.rawValue].compactMap(\.self)
          .joined(separator: ", ")
      } else if row.state != .gone {
        values["unsigned"] = index.rules.signature == .off ? "Not checked" : "No valid signature"
      }
      return values
    }
  }
}

extension IndexRow.Summary {
  /// The state on the page; a search for it finds the rows in that state.
  var label: String { self == .nothing ? "serves nothing" : rawValue }
}

/// Responds to `/` with the index, by page: HTML for people, or JSON for programs.
actor IndexListing {
  /// The number of rows on a page of JSON.
  static let rowLimit = 1000

  /// The most pages without a search that are kept.
  private static let keptPages = 16

  /// A page without a search, which many clients may request.
  private struct PageKey: Hashable {
    let isJSON: Bool
    let number: Int
    let hasLinks: Bool
  }

  private let headers: ResponseHeaders
  // Pages with a search are not kept; the width of the threads, and turns by network, bound their cost.
  private let threads: ThreadPool
  private var generation = 0
  private var pages: [PageKey: Response] = [:]

  /// Makes a listing.
  init(_ headers: ResponseHeaders, on threads: ThreadPool) {
    self.headers = headers
    self.threads = threads
  }

  /// Responds to `/`.
  ///
  /// - Parameters:
  ///   - request: the request. Its `Accept`, or `format=json` in its query, decides between JSON and
  ///     HTML, which is the default; `page` and `q` select the rows.
  ///   - links: the links to further pages that the client may see.
  /// - Returns: 200 with a page.
  /// - Throws: ``HTTPError`` with status 400 for a malformed query or too long a search, or 503 if too many requests
  ///   wait; ``SystemError`` if no thread can be started.
  func response(
    to request: Request, for index: ContractIndex, links: [PageLink] = []
  ) async throws -> Response {
    let head = request.head
    guard let form = URLEncodedForm(head.query ?? []) else {
      throw HTTPError(.badRequest, "malformed percent-encoding in the query")
    }
    let accept = AcceptList(head, .accept)
    let isJSON = form["format"] == "json" || accept.prefers("application/json", to: "text/html")
    let number = form["page"].flatMap { Int($0) } ?? 1
    let text = form["q"] ?? ""
    guard !IndexPage.isTooLong(text) else {
      throw HTTPError(
        .badRequest,
        "a search has at most \(IndexPage.wordLimit) words and \(IndexPage.queryLimit) bytes")
    }
    let query = text.split(separator: " ").joined(separator: " ")
    func make() async throws -> Response {
      try await threads.run(
        for: request.origin.client, orRefuseWith: "too many pages of the index are being made"
      ) { [headers] in
        if isJSON { return try Self.rows(index, query, number, headers) }
        var page = IndexPage(index, query: query, number: number)
        page.links = links
        return Self.shared(Response(page: page.html, .index).with(headers.common))
      }
    }
    guard query.isEmpty else { return try await make() }
    let limit = isJSON ? Self.rowLimit : IndexPage.limit
    let last = max(1, (index.rows.count + limit - 1) / limit)
    let key = PageKey(
      isJSON: isJSON, number: min(max(1, number), last), hasLinks: !isJSON && !links.isEmpty)
    if generation != index.generation {
      generation = index.generation
      pages = [:]
    }
    if let kept = pages[key] { return kept }
    let made = try await make()
    if generation == index.generation, pages.count < Self.keptPages { pages[key] = made }
    return made
  }

  private static func rows(
    _ index: ContractIndex, _ query: String, _ number: Int, _ headers: ResponseHeaders
  ) throws -> Response {
    let words = query.lowercased().split(separator: " ").map(String.init)
    let found = words.isEmpty ? index.rows : index.search.rows(with: words).map { index.rows[$0] }
    let last = max(1, (found.count + rowLimit - 1) / rowLimit)
    let number = min(max(1, number), last)
    let search = words.isEmpty ? "" : "&q=\(PercentEncoding.encode(query))"
    let next = number < last ? "/?format=json\(search)&page=\(number + 1)" : nil
    let page: JSONObject = [
      "contracts": Array(found.dropFirst((number - 1) * rowLimit).prefix(rowLimit)),
      "next": next,
    ]
    var response = try Response(.ok, json: page.withoutNulls).with(
      headers.common, ResponseHeaders.foreignContent)
    if let next { response.fields.append(.link, "<\(next)>; rel=\"next\"") }
    return shared(response)
  }

  /// Moves the body into memory that connections share.
  private static func shared(_ response: Response) -> Response {
    var response = response
    if case .array(let bytes) = response.body { response.body = .bytes(Bytes(bytes)) }
    return response
  }
}
