internal import Storage

/// Entries of a log that were read at once: as many as were asked for, or fewer where these are long.
struct BoundedPage<Entry: Sendable>: Sendable {
  var entries: [Entry] = []
  /// The bytes that the entries take.
  var bytes = 0
  /// True if the next entry is one of those that were asked for, and has no room.
  var isCut = false
}

/// The bounds of what is read at once for one who may not take it.
enum PageBounds {
  /// The bytes of a page.
  static let bytes = 128 << 10
  /// The entries that are read at first.
  static let firstRows = 16

  /// Returns how many rows to ask for after a page: fewer where these are long, as PostgreSQL sends all that are asked for.
  static func rows<Entry>(after page: BoundedPage<Entry>, of rows: Int, atMost most: Int) -> Int {
    page.isCut ? max(1, page.entries.count) : min(most, 2 * rows)
  }
}

extension Queryable where Self: ~Copyable {
  /// Runs a query, and makes entries of its rows while these have room together.
  ///
  /// - Parameters:
  ///   - sql: one statement, which is prepared once for each connection. It should limit the number of rows.
  ///   - values: one value for each parameter, in order.
  ///   - columns: the columns that may be long.
  ///   - bytes: the room.
  ///   - isFirst: whether the first entry is there even if it alone has no room.
  borrowing func page<each Value: DatabaseValueConvertible, Entry: Sendable>(
    _ sql: StaticString, _ values: repeat each Value, measuring columns: [Int],
    upTo bytes: Int = PageBounds.bytes, isFirst: Bool = true,
    transform: (borrowing Row) throws -> Entry
  ) throws -> BoundedPage<Entry> {
    var page = BoundedPage<Entry>()
    try forEach(sql, repeat each values) { row in
      guard !page.isCut else { return }
      var length = MsgrStore.messageOverhead
      for column in columns { length += try row.withBytes(column) { $0.count } }
      guard (isFirst && page.entries.isEmpty) || page.bytes + length <= bytes else {
        page.isCut = true
        return
      }
      page.bytes += length
      page.entries.append(try transform(row))
    }
    return page
  }
}
