/// Finds the name that a mistyped one was meant to be.
enum Suggestion {
  /// Longer names are not compared: the work grows with the square of their length.
  private static let longestName = 80

  /// Returns the candidate with the fewest edits from a name if these are few: at most one in three characters. Of two
  /// equal candidates it is the first in the alphabet.
  static func close(to name: String, among candidates: some Sequence<String>) -> String? {
    let length = name.unicodeScalars.count
    guard let nearest = nearest(to: name, among: candidates), nearest.edits < length,
      nearest.edits <= max(1, length / 3)
    else { return nil }
    return nearest.name
  }

  /// Returns the candidate with the fewest edits from a name, however many.
  static func nearest(
    to name: String, among candidates: some Sequence<String>
  ) -> (name: String, edits: Int)? {
    guard name.utf8.count <= longestName else { return nil }
    return candidates.filter { $0.utf8.count <= longestName }.sorted()
      .map { (name: $0, edits: edits(from: name, to: $0)) }
      .min { $0.edits < $1.edits }
  }

  /// Returns the number of inserted, removed, replaced and swapped characters between two texts (optimal string
  /// alignment distance).
  static func edits(from: String, to: String) -> Int {
    let from = Array(from.unicodeScalars)
    let to = Array(to.unicodeScalars)
    var beforeLast: [Int] = []
    var last = Array(0...to.count)
    for row in from.indices {
      var current = [row + 1]
      for column in to.indices {
        var best = min(
          last[column] + (from[row] == to[column] ? 0 : 1), last[column + 1] + 1,
          current[column] + 1)
        if row > 0, column > 0, from[row] == to[column - 1], from[row - 1] == to[column] {
          best = min(best, beforeLast[column - 1] + 1)
        }
        current.append(best)
      }
      (beforeLast, last) = (last, current)
    }
    return last[to.count]
  }
}
