/// A table of limited size that forgets the values that were inserted longest ago.
///
/// It has two generations. The older one is dropped as a whole, so that nothing has to be searched.
@usableFromInline
package final class RecentValues<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  @usableFromInline
  struct State {
    @usableFromInline var young: [Key: Value] = [:]
    @usableFromInline var old: [Key: Value] = [:]
  }

  private let limit: Int
  @usableFromInline let state = Lock(State())

  /// Makes an empty table.
  ///
  /// - Parameter limit: the most values that are kept, two at least.
  package init(limit: Int) { self.limit = max(2, limit) }

  /// Returns the value of a key, or nil if there is none.
  @inlinable
  package func value(for key: Key) -> Value? {
    state.withLock { state in state.young[key] ?? state.old[key] }
  }

  /// Inserts a value in place of an earlier one.
  ///
  /// - Returns: whether there was none.
  @discardableResult package func insert(_ value: Value, for key: Key) -> Bool {
    state.withLock { state in
      let isNew = state.young[key] == nil && state.old[key] == nil
      insert(value, for: key, into: &state)
      return isNew
    }
  }

  private func insert(_ value: Value, for key: Key, into state: inout State) {
    if state.young.count >= limit / 2 {
      state.old = state.young
      state.young = [:]
    }
    state.young[key] = value
  }

  /// Inserts a value unless there is one that meets a condition.
  ///
  /// - Returns: the value that is kept.
  package func keep(_ value: Value, for key: Key, unless isGood: (Value) -> Bool) -> Value {
    state.withLock { state in
      if let kept = state.young[key] ?? state.old[key], isGood(kept) { return kept }
      insert(value, for: key, into: &state)
      return value
    }
  }

  /// Removes the value of a key if it meets a condition.
  package func remove(_ key: Key, if condition: (Value) -> Bool = { _ in true }) {
    state.withLock { state in
      if let value = state.young[key], condition(value) { state.young[key] = nil }
      if let value = state.old[key], condition(value) { state.old[key] = nil }
    }
  }
}
