/// A queue in one array: its front is empty places, which are given back when they are half of it.
package struct FIFO<Element> {
  @usableFromInline var elements: [Element?] = []
  /// The index of the first element.
  @usableFromInline var head = 0

  /// Makes an empty queue.
  @inlinable
  package init() {}

  /// The number of elements.
  @inlinable package var count: Int { elements.count - head }

  /// Adds an element at the end.
  ///
  /// - Returns: the number of elements with it.
  @inlinable
  @discardableResult
  package mutating func append(_ element: Element) -> Int {
    elements.append(element)
    return count
  }

  /// Removes the first element, and returns it; nil if there is none.
  @inlinable
  package mutating func popFirst() -> Element? {
    guard head < elements.count else { return nil }
    let element = elements[head].take()
    head += 1
    if head == elements.count {
      elements.removeAll(keepingCapacity: true)
      head = 0
    } else if head > 32, head > count {
      elements.removeFirst(head)
      head = 0
    }
    return element
  }

  /// Removes the last element, and returns it; nil if there is none.
  @inlinable
  package mutating func popLast() -> Element? {
    guard head < elements.count else { return nil }
    return elements.removeLast()
  }

  /// Removes an element, which the queue holds at most once.
  @inlinable
  package mutating func remove(_ element: Element) where Element: Equatable {
    guard let index = elements[head...].firstIndex(of: element) else { return }
    elements.remove(at: index)
  }
}
