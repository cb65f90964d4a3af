/// A queue of two stacks: `incoming` is reversed into `outgoing` when that is empty.
package struct FIFO<Element> {
  private var incoming: [Element] = []
  private var outgoing: [Element] = []

  /// Makes an empty queue.
  package init() {}

  /// The number of elements.
  package var count: Int { incoming.count + outgoing.count }

  /// Adds an element at the end.
  package mutating func append(_ element: Element) { incoming.append(element) }

  /// Removes the first element, and returns it; nil if there is none.
  package mutating func popFirst() -> Element? {
    if outgoing.isEmpty {
      guard incoming.count > 1 else { return incoming.popLast() }
      outgoing = incoming.reversed()
      incoming.removeAll(keepingCapacity: true)
    }
    return outgoing.popLast()
  }

  /// Removes the last element, and returns it; nil if there is none.
  package mutating func popLast() -> Element? {
    incoming.popLast() ?? (outgoing.isEmpty ? nil : outgoing.removeFirst())
  }

  /// Removes an element that there is at most once.
  package mutating func remove(_ element: Element) where Element: Equatable {
    incoming.removeAll { $0 == element }
    outgoing.removeAll { $0 == element }
  }
}
