/// The longest turn of a loop within the last minute or two.
struct TurnRecord {
  /// The time after which a record is forgotten, twice, in milliseconds.
  private static let span: Int64 = 60_000

  private var begin: Int64 = 0
  private var present: Int64 = 0
  private var previous: Int64 = 0

  /// The duration of the longest turn, in milliseconds.
  var longest: Int { Int(max(present, previous)) }

  /// Takes note of a turn.
  ///
  /// - Parameters:
  ///   - duration: its duration in milliseconds.
  ///   - now: the moment in milliseconds.
  mutating func note(_ duration: Int64, now: Int64) {
    if now - begin >= TurnRecord.span {
      previous = now - begin >= 2 * TurnRecord.span ? 0 : present
      present = 0
      begin = now
    }
    if duration > present { present = duration }
  }
}
