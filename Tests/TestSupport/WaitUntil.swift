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
///   - condition: is asked every few milliseconds.
/// - Throws: ``NeverMet`` if the time is over, or the condition's error.
package nonisolated(nonsending) func waitUntil(
  within limit: Duration = .seconds(60), file: String = #fileID, line: Int = #line,
  _ condition: nonisolated(nonsending) () async throws -> Bool
) async throws {
  let deadline = ContinuousClock.now + limit
  while try await !condition() {
    guard .now < deadline else { throw NeverMet(limit, file, line) }
    try await Task.sleep(for: .milliseconds(2))
  }
}

/// Waits until a condition holds, for tests of what can only be polled; blocks the thread in between.
///
/// - Parameters:
///   - limit: how long to wait at most.
///   - condition: is asked every few milliseconds.
/// - Throws: ``NeverMet`` if the time is over, or the condition's error.
package func blockUntil(
  within limit: Duration = .seconds(60), file: String = #fileID, line: Int = #line,
  _ condition: () throws -> Bool
) throws {
  let deadline = ContinuousClock.now + limit
  while try !condition() {
    guard .now < deadline else { throw NeverMet(limit, file, line) }
    usleep(2000)
  }
}

extension NeverMet {
  fileprivate init(_ limit: Duration, _ file: String, _ line: Int) {
    description = "what \(file):\(line) waits for did not come about within \(limit)"
  }
}
