internal import Formats
internal import ApptimistProtocol
internal import Cryptography

/// Makes the pages of lists, for version 2. A cursor is the place of the last item and a keyed hash of it with the question:
/// nobody else can make one, and any node knows it.
struct ListPages: Sendable {
  private enum List: UInt8 {
    case vouchers, names, uids
  }

  let store: ApptimistStore
  let accounts: AccountService
  let hash: KeyedHash
  /// The most items of a page.
  let max: Int

  /// Lists a part of the users who vouch for an account.
  func vouchers(
    _ query: Version2.VouchersQuery
  ) async throws -> Result<ListPage<Version2.Voucher>, ErrorCode> {
    let question = [List.vouchers.rawValue] + query.subject.bytes
    guard let place = place(query.page.cursor, question) else { return .failure(.badField) }
    let count = count(query.page)
    // One more tells whether there is a next page.
    guard
      let found = try await store.vouchers(of: query.subject, behind: place, max: count + 1)
    else { return .failure(.notFound) }
    let page = found.prefix(count)
    let next = found.count > count ? page.last.map { cursor($0.place, question) } : nil
    return .success(ListPage(items: page.map(\.voucher), next: next ?? Version2.Cursor()))
  }

  /// Finds a part of the accounts that a search matches.
  func accounts(
    _ search: AccountSearch, for network: ClientNetwork?
  ) async throws -> Result<ListPage<Version2.User>, ErrorCode> {
    let list: List
    let query: Version2.TextQuery
    switch search {
    case .key:
      let found = try await accounts.search(search, behind: nil, max: 1, from: network)
      return .success(ListPage(items: found.map(\.user), next: Version2.Cursor()))
    case .name(let text):
      list = .names
      query = text
    case .uid(let text):
      list = .uids
      query = text
    }
    let question = [list.rawValue] + query.text.bytes
    guard let place = place(query.page.cursor, question) else { return .failure(.badField) }
    let count = count(query.page)
    let found = try await accounts.search(
      search, behind: SearchPlace(place), max: count + 1, from: network)
    let page = found.prefix(count)
    let next = found.count > count ? page.last.map { cursor($0.place.value, question) } : nil
    return .success(ListPage(items: page.map(\.user), next: next ?? Version2.Cursor()))
  }

  private func count(_ page: Version2.PageQuery) -> Int {
    page.max == 0 ? max : min(max, Int(page.max))
  }

  private func cursor(_ place: Int64, _ question: [UInt8]) -> Version2.Cursor {
    var writer = ByteWriter(capacity: 16)
    writer.write(UInt64(bitPattern: place))
    writer.write(hash.hash(question, writer.bytes).bytes.prefix(8))
    return Version2.Cursor(writer.bytes) ?? Version2.Cursor()
  }

  /// The place of a cursor, 0 for the beginning; nil for a cursor that nobody was given for this question.
  private func place(_ cursor: Version2.Cursor, _ question: [UInt8]) -> Int64? {
    if cursor.isZero { return 0 }
    let place = cursor.bytes.prefix(8).reduce(0) { $0 << 8 | Int64($1) }
    return self.cursor(place, question) == cursor ? place : nil
  }
}

extension SearchPlace {
  /// Reads a place; nil for the beginning.
  fileprivate init?(_ value: Int64) {
    guard value > 0, let group = Group(rawValue: value & 3) else { return nil }
    self.init(number: AccountNumber(rawValue: value >> 2), group: group)
  }

  /// The place as a number above 0.
  fileprivate var value: Int64 { number.rawValue << 2 | group.rawValue }
}
