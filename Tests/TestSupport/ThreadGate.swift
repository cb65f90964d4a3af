internal import Dispatch

/// Holds a thread until a test lets it go on.
package final class ThreadGate: Sendable {
  private let reached = DispatchSemaphore(value: 0)
  private let opened = DispatchSemaphore(value: 0)

  /// Makes a gate that is closed.
  package init() {}

  /// Blocks the thread until the gate is opened.
  package func pass() {
    reached.signal()
    opened.wait()
  }

  /// Waits until a thread has come to the gate.
  package func waitUntilReached() async throws {
    try await onThread { [reached] in reached.wait() }
  }

  /// Lets one thread through, which may come later.
  package func open() { opened.signal() }
}
