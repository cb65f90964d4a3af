internal import HTTPProtocol
internal import Platform

/// A piece of a body that is read from the store.
struct BodyPiece: Sendable {
  let bytes: [UInt8]
  let isLast: Bool
}

extension Response.Body {
  /// Makes a body of what is read piece by piece: one array if that is the first piece, else as the client takes them, so that
  /// nothing is kept for a client that doesn't. Each piece is read in the turn of the present owner.
  static func reading(
    _ next: @escaping @Sendable () async throws -> BodyPiece
  ) async throws -> Response.Body {
    let first = try await next()
    guard !first.isLast else { return .array(first.bytes) }
    let owner = WorkOwner.current
    let state = Lock<(waiting: BodyPiece?, isOver: Bool)>((first, false))
    return .pieces(
      AsyncThrowingStream {
        let (waiting, isOver) = state.withLock { state in (state.waiting.take(), state.isOver) }
        if let waiting { return waiting.bytes }
        guard !isOver else { return nil }
        let piece = try await WorkOwner.$current.withValue(owner) { try await next() }
        state.withLock { $0.isOver = piece.isLast }
        return piece.bytes
      })
  }
}

/// A list in JSON that is read page by page.
///
/// It is an actor, as its pieces are made one after the other in tasks of their own.
actor JSONListReading<Entry: Sendable> {
  /// What was read when the list is over.
  struct End: Sendable {
    let count: Int
    let last: Entry?
    /// True if the log has more than were asked for.
    let hasMore: Bool
  }

  private let opening: [UInt8]
  private let encode: @Sendable (Entry) throws -> [UInt8]
  private let closing: @Sendable (End) -> [UInt8]
  private let read: @Sendable (Entry?, Int) async throws -> BoundedPage<Entry>
  private var left: Int
  private var count = 0
  private var last: Entry?
  /// The most rows of the next page.
  private var rows: Int

  /// - Parameters:
  ///   - limit: the most entries.
  ///   - opening: what stands before the entries.
  ///   - closing: makes what stands behind them.
  ///   - encode: makes the JSON of an entry.
  ///   - read: reads so many entries behind one, or at the beginning.
  init(
    atMost limit: Int, opening: [UInt8] = Array("[".utf8),
    closing: @escaping @Sendable (End) -> [UInt8] = { _ in Array("]".utf8) },
    encode: @escaping @Sendable (Entry) throws -> [UInt8],
    read: @escaping @Sendable (Entry?, Int) async throws -> BoundedPage<Entry>
  ) {
    self.opening = opening
    self.closing = closing
    self.encode = encode
    self.read = read
    left = limit
    rows = limit + 1
  }

  /// Reads the piece that comes next.
  func piece() async throws -> BodyPiece {
    // One more than is wanted tells whether there are more.
    let asked = min(rows, left + 1)
    let page = try await read(last, asked)
    var bytes = count == 0 ? opening : []
    for entry in page.entries.prefix(left) {
      if count > 0 { bytes.append(UInt8(ascii: ",")) }
      bytes += try encode(entry)
      last = entry
      count += 1
    }
    rows = PageBounds.rows(after: page, of: rows, atMost: left + 1)
    let hasMore = page.entries.count > left || (page.isCut && page.entries.count == left)
    let isLast = hasMore || (!page.isCut && page.entries.count < asked)
    left -= min(left, page.entries.count)
    guard isLast else { return BodyPiece(bytes: bytes, isLast: false) }
    bytes += closing(End(count: count, last: last, hasMore: hasMore))
    return BodyPiece(bytes: bytes, isLast: true)
  }

  /// Returns the list as a body.
  nonisolated func body() async throws -> Response.Body {
    try await .reading { [self] in try await piece() }
  }
}
