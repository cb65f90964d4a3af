internal import Threading

/// The results of steps that are done one by one.
final class StepResults<Value: Sendable>: Sendable {
  private struct State {
    var results: [Result<Value, any Error>?]
    var missing: Int
  }

  private let state: Lock<State>
  private let promise = Promise<[Result<Value, any Error>]>()

  /// Makes a collection of results that are all missing.
  ///
  /// - Parameter count: the number of steps, at least one.
  init(count: Int) {
    state = Lock(State(results: Array(repeating: nil, count: count), missing: count))
  }

  /// Takes the result of a step.
  func note(_ result: Result<Value, any Error>, of index: Int) {
    let all = state.withLock { state -> [Result<Value, any Error>]? in
      state.results[index] = result
      state.missing -= 1
      return state.missing == 0 ? state.results.compactMap { $0 } : nil
    }
    if let all { promise.fulfill(all) }
  }

  /// The results, in the order of the steps, once all are there.
  nonisolated(nonsending) var all: [Result<Value, any Error>] {
    get async { await promise.value }
  }
}
