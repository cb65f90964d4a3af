internal import Foundation

/// The error of a condition that did not come about in time.
package struct NeverMet: Error, CustomStringConvertible {
  /// The place of the wait and its limit.
  package let description: String
}

/// Waits until a condition holds, for tests of what can only be polled; suspends the task in between.
///
/// - Parameters:
///   - limit: how long to wait at most.
///   - longestPause: how long to pause before a question at most; the first pauses are shorter.
///   - condition: is asked until it holds.
/// - Throws: ``NeverMet`` if the time is over, or the condition's error.
package nonisolated(nonsending) func waitUntil(
  within limit: Duration = .seconds(60), pausingAtMost longestPause: Duration = .milliseconds(25),
  file: String = #fileID, line: Int = #line,
  _ condition: nonisolated(nonsending) () async throws -> Bool
) async throws {
  let deadline = ContinuousClock.now + limit
  var pauses = Pauses(longest: longestPause)
  while try await !condition() {
    guard .now < deadline else { throw NeverMet(limit, file, line) }
    try await Task.sleep(for: pauses.next())
  }
}

/// Waits until a condition holds, for tests of what can only be polled; blocks the thread in between.
///
/// - Parameters:
///   - limit: how long to wait at most.
///   - longestPause: how long to pause before a question at most; the first pauses are shorter.
///   - condition: is asked until it holds.
/// - Throws: ``NeverMet`` if the time is over, or the condition's error.
package func blockUntil(
  within limit: Duration = .seconds(60), pausingAtMost longestPause: Duration = .milliseconds(25),
  file: String = #fileID, line: Int = #line,
  _ condition: () throws -> Bool
) throws {
  let deadline = ContinuousClock.now + limit
  var pauses = Pauses(longest: longestPause)
  while try !condition() {
    guard .now < deadline else { throw NeverMet(limit, file, line) }
    usleep(UInt32(pauses.next() / .microseconds(1)))
  }
}

/// The pauses between two questions: short ones at first, then longer ones, as a question may keep a browser, a database or
/// another process from what it is asked about.
private struct Pauses {
  let longest: Duration
  private var pause = Duration.milliseconds(1)

  init(longest: Duration) { self.longest = longest }

  mutating func next() -> Duration {
    defer { pause = min(pause * 1.5, longest) }
    return pause
  }
}

extension NeverMet {
  fileprivate init(_ limit: Duration, _ file: String, _ line: Int) {
    description = "what \(file):\(line) waits for did not come about within \(limit)"
  }
}
