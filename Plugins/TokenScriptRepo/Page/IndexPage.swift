internal import WebApps

/// One page of the index: the rows that match a search, in parts.
struct IndexPage: Sendable {
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
  ///   - index: the index.
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
