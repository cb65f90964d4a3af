/// Collects elements from any thread for one task, which receives them in order and can wait for them with a deadline.
package final class Mailbox<Element: Sendable>: Sendable {
  private struct State {
    var elements: [Element] = []
    var waiter: CheckedContinuation<Void, Never>?
    /// True if the wait is over, which it may be before the task has begun to wait.
    var isOver = false
  }

  private let state = Lock(State())

  package init() {}

  /// Adds an element, and wakes the task that waits.
  package func put(_ element: Element) { wake { $0.elements.append(element) } }

  /// Waits until there are elements, and removes them.
  ///
  /// Only one task at a time may wait.
  ///
  /// - Returns: the elements in order; none if the time is over or the task is cancelled.
  package func next(within limit: Duration) async -> [Element] {
    state.withLock { $0.isOver = false }
    await withTaskCancellationHandler {
      await withDiscardingTaskGroup { group in
        group.addTask { [self] in
          guard (try? await Task.sleep(for: limit)) != nil else { return }
          wake { $0.isOver = true }
        }
        await wait()
        group.cancelAll()
      }
    } onCancel: {
      wake { $0.isOver = true }
    }
    return drain()
  }

  /// Removes the elements that are there, without waiting.
  ///
  /// - Returns: the elements in order.
  package func drain() -> [Element] { state.withLock { exchange(&$0.elements, with: []) } }

  private func wait() async {
    await withCheckedContinuation { continuation in
      let isReady = state.withLock { state in
        if !state.elements.isEmpty || state.isOver { return true }
        state.waiter = continuation
        return false
      }
      if isReady { continuation.resume() }
    }
  }

  private func wake(_ change: (inout sending State) -> Void) {
    let waiter = state.withLock { state in
      change(&state)
      return state.waiter.take()
    }
    waiter?.resume()
  }
}
