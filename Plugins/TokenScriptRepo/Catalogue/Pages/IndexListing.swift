internal import Cryptography
internal import Ethereum
internal import HTTPProtocol
internal import WebApps
internal import Routing
internal import Platform
internal import Formats

/// Responds to `/` with the index, by page: HTML for people, or JSON for programs.
actor IndexListing {
  /// The number of rows on a page of JSON.
  static let rowLimit = 1000

  /// The number of pages without a search that are kept.
  private static let keptPages = 16

  /// A page without a search, which many clients may ask for.
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
    let query = form["q"] ?? ""
    guard !IndexPage.isTooLong(query) else {
      throw HTTPError(
        .badRequest,
        "a search has at most \(IndexPage.wordLimit) words and \(IndexPage.queryLimit) bytes")
    }
    let limit = isJSON ? Self.rowLimit : IndexPage.limit
    let last = max(1, (index.rows.count + limit - 1) / limit)
    let key = PageKey(
      isJSON: isJSON, number: min(max(1, number), last), hasLinks: !isJSON && !links.isEmpty)
    let isSearch = query.contains { $0 != " " }
    if generation != index.generation {
      generation = index.generation
      pages = [:]
    }
    if !isSearch, let kept = pages[key] { return kept }
    let made = try await threads.run(
      for: request.origin.client, orRefuseWith: "too many pages of the index are being made"
    ) { [headers] in
      if isJSON {
        return try Self.rows(index, isSearch ? query : "", isSearch ? number : key.number, headers)
      }
      var page = IndexPage(index, query: query, number: isSearch ? number : key.number)
      page.links = links
      return Self.shared(Response(page: page.html, .index).with(headers.common))
    }
    if !isSearch, generation == index.generation, pages.count < Self.keptPages { pages[key] = made }
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
