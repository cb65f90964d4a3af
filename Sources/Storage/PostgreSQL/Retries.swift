/// Decides for one job of PostgreSQL's whether what has failed is tried again.
struct Retries {
  /// The time that a job may take with all its tries, and the time that a lost server may take to come back.
  static let patience = Duration.seconds(5)

  private var tries = 0
  private var uniques = 0
  private var preparations = 0

  /// Returns the pause before the next try, or nil if there is none.
  ///
  /// - Parameters:
  ///   - error: the error of the last try, whose COMMIT had no effect.
  ///   - isLost: whether there is no connection any more, or the node is none for now.
  ///   - elapsed: the time since the first try.
  mutating func pause(after error: StoreError, isLost: Bool, elapsed: Duration) -> Duration? {
    tries += 1
    guard elapsed < Self.patience else { return nil }
    if isLost { return Self.pause(beforeConnecting: tries) }
    switch error.sqlState {
    // Others have changed what it had read, or each waits for the other, or one has waited long for a lock.
    case "40001", "40P01", "55P03":
      // Random, so that those who were in each other's way are not so again.
      return .microseconds(Int.random(in: 0...(1000 << min(tries - 1, 6))))
    // Another may have made the same row after the closure had looked for it. Twice it is no coincidence.
    case "23505":
      uniques += 1
      return uniques <= 2 ? .microseconds(Int.random(in: 0...2000)) : nil
    // The tables have changed since the statement was prepared, or another has forgotten it.
    case "0A000", "26000":
      preparations += 1
      return preparations <= 2 ? .zero : nil
    default: return nil
    }
  }

  /// Returns the pause before a connection is tried again.
  ///
  /// - Parameter tries: the number of tries in vain.
  static func pause(beforeConnecting tries: Int) -> Duration {
    // Random, so that not all workers of all nodes come back at once.
    .milliseconds(min(20 * tries, 500) * Int.random(in: 50...100) / 100)
  }
}
