internal import Threading

/// A value that comes once, from a thread, and that any number of tasks await.
final class Promise<Value: Sendable>: Sendable {
  private enum State {
    case pending([CheckedContinuation<Value, Never>])
    case kept(Value)
  }

  private let state = Lock(State.pending([]))

  /// Gives the value; a second one is ignored.
  func keep(_ value: Value) {
    let waiters = state.withLock { state -> [CheckedContinuation<Value, Never>] in
      guard case .pending(let waiters) = state else { return [] }
      state = .kept(value)
      return waiters
    }
    for waiter in waiters { waiter.resume(returning: value) }
  }

  /// The value, once it is there.
  nonisolated(nonsending) var value: Value {
    get async {
      await withCheckedContinuation { continuation in
        let value = state.withLock { state -> Value? in
          switch state {
          case .kept(let value): return value
          case .pending(let waiters):
            state = .pending(waiters + [continuation])
            return nil
          }
        }
        if let value { continuation.resume(returning: value) }
      }
    }
  }
}
