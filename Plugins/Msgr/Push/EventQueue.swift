internal import Threading

/// Events from many tasks for one that takes them in order.
final class EventQueue<Event: Sendable>: Sendable {
  private struct State {
    var events: [Event] = []
    var waiter: CheckedContinuation<Void, Never>?
  }

  private let state = Lock(State())

  /// Adds an event, and wakes the taker.
  func put(_ event: Event) {
    wake { $0.events.append(event) }
  }

  /// Takes what has come; waits for it, but not for long.
  ///
  /// - Parameter limit: how long to wait at most.
  /// - Returns: the events in order; none if none came, or the task is cancelled.
  func take(within limit: Duration) async -> [Event] {
    await withTaskCancellationHandler {
      await withDiscardingTaskGroup { group in
        group.addTask { [self] in
          guard (try? await Task.sleep(for: limit)) != nil else { return }
          wake { _ in }
        }
        await wait()
        group.cancelAll()
      }
    } onCancel: {
      wake { _ in }
    }
    return takeNow()
  }

  /// Takes what has come.
  func takeNow() -> [Event] {
    state.withLock { state in
      defer { state.events = [] }
      return state.events
    }
  }

  private func wait() async {
    await withCheckedContinuation { continuation in
      let isReady = state.withLock { state in
        // A task that is cancelled after this is woken by the handler.
        if !state.events.isEmpty || Task.isCancelled { return true }
        state.waiter = continuation
        return false
      }
      if isReady { continuation.resume() }
    }
  }

  private func wake(_ change: (inout sending State) -> Void) {
    let waiter = state.withLock { state in
      change(&state)
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.resume()
  }
}
