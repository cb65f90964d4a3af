/// A value that a thread gives once, and that any number of tasks await.
@usableFromInline
package final class Promise<Value: Sendable>: Sendable {
  private enum State {
    case pending([CheckedContinuation<Value, Never>])
    case fulfilled(Value)
  }

  private let state = Lock(State.pending([]))

  /// Makes a promise without a value.
  package init() {}

  /// Gives the value. A second one is ignored.
  package func fulfill(_ value: Value) {
    let waiters = state.withLock { state -> [CheckedContinuation<Value, Never>] in
      guard case .pending(let waiters) = state else { return [] }
      state = .fulfilled(value)
      return waiters
    }
    for waiter in waiters { waiter.resume(returning: value) }
  }

  /// The value. Reading waits until it is given.
  package nonisolated(nonsending) var value: Value {
    get async {
      await withCheckedContinuation { continuation in
        let value = state.withLock { state -> Value? in
          switch state {
          case .fulfilled(let value): return value
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
