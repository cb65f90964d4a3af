internal import Dispatch

/// Holds a thread until a test lets it go on.
public final class ThreadGate: Sendable {
  private let reached = DispatchSemaphore(value: 0)
  private let opened = DispatchSemaphore(value: 0)

  /// Makes a gate that is closed.
  public init() {}

  /// Blocks the thread until the gate is opened.
  public func pass() {
    reached.signal()
    opened.wait()
  }

  /// Waits until a thread has come to the gate.
  public func waitUntilReached() async throws {
    try await onThread { [reached] in reached.wait() }
  }

  /// Lets one thread through, which may come later.
  public func open() { opened.signal() }
}
