internal import Glibc

/// The rows of an index in the order of the page, with their texts side by side, so that a search converts nothing.
final class IndexSearch: Sendable {
  /// The numbers of the rows, the refused ones first.
  let order: [Int]
  /// The texts in that order, each with a zero byte behind it.
  private let texts: [CChar]
  private let offsets: [Int]

  /// Folds the rows of an index.
  ///
  /// - Parameter rows: the rows in the order of their files.
  init(_ rows: [IndexRow]) {
    let isRefused = rows.map { $0.state.summary == .refused }
    order = rows.indices.filter { isRefused[$0] } + rows.indices.filter { !isRefused[$0] }
    var texts: [CChar] = []
    offsets = order.map { number in
      defer {
        texts += rows[number].searchText.utf8.lazy.filter { $0 != 0 }.map { CChar(bitPattern: $0) }
        texts.append(0)
      }
      return texts.count
    }
    self.texts = texts
  }

  /// Returns the numbers of the rows whose texts contain each of some words.
  ///
  /// - Parameter words: words in lower case; none selects all rows.
  func rows(with words: [String]) -> [Int] {
    guard !words.isEmpty else { return order }
    return unsafe texts.withUnsafeBufferPointer { texts in
      zip(order, offsets).compactMap { number, offset in
        guard let start = unsafe texts.baseAddress.map({ unsafe $0 + offset }) else { return nil }
        return words.allSatisfy { unsafe strstr(start, $0) != nil } ? number : nil
      }
    }
  }
}
