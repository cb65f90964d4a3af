/// A bounded queue whose owners take turns: every owner's first element comes before anybody's second one. The elements of
/// one owner keep their order.
package struct FairQueue<Owner: Hashable, Element> {
  @usableFromInline let limit: Int
  @usableFromInline var lanes: [Owner: FIFO<Element>] = [:]
  /// The owners of waiting elements, the next one first.
  @usableFromInline var turns = FIFO<Owner>()
  @usableFromInline var total = 0

  /// The number of elements that wait.
  @inlinable package var count: Int { total }

  /// Makes an empty queue.
  ///
  /// - Parameter limit: the number of elements that may wait.
  @inlinable
  package init(limit: Int) { self.limit = limit }

  /// Adds an element behind the others of its owner.
  ///
  /// - Returns: the element that has no place, or nil if there was room: the last one of the owner with most elements,
  ///   or the new one if no other owner has more elements than its own.
  @inlinable
  package mutating func append(_ element: Element, for owner: Owner) -> Element? {
    append(element, for: owner, hasRoom: total < limit)
  }

  /// Adds an element, in the place of another one if there is no room for one more.
  @inlinable
  package mutating func append(_ element: Element, for owner: Owner, hasRoom: Bool) -> Element? {
    var refused: Element?
    if !hasRoom {
      guard let largest = largest, largest.count > (lanes[owner]?.count ?? 0) + 1 else {
        return element
      }
      refused = removeLast()
    }
    let isFirst = lanes[owner, default: FIFO()].append(element) == 1
    if isFirst { turns.append(owner) }
    total += 1
    return refused
  }

  /// Removes the next element, and returns it; nil if none waits.
  @inlinable
  package mutating func popFirst() -> Element? {
    guard let owner = turns.popFirst(), let lane = lanes.index(forKey: owner),
      let element = lanes.values[lane].popFirst()
    else { return nil }
    total -= 1
    if lanes.values[lane].count == 0 { lanes.remove(at: lane) } else { turns.append(owner) }
    return element
  }

  /// Removes an element of an owner, which the queue holds at most once.
  ///
  /// - Returns: whether it was there.
  @inlinable
  package mutating func remove(_ element: Element, of owner: Owner) -> Bool
  where Element: Equatable {
    guard let before = lanes[owner]?.count else { return false }
    lanes[owner]?.remove(element)
    guard let after = lanes[owner]?.count, after < before else { return false }
    total -= 1
    if after == 0 {
      lanes[owner] = nil
      turns.remove(owner)
    }
    return true
  }

  @inlinable var largest: (owner: Owner, count: Int)? {
    lanes.max { $0.value.count < $1.value.count }.map { ($0.key, $0.value.count) }
  }

  /// Removes the last element of the owner with most elements, and returns it; nil if none waits.
  @inlinable
  package mutating func removeLast() -> Element? {
    guard let owner = largest?.owner, let element = lanes[owner]?.popLast() else { return nil }
    total -= 1
    if lanes[owner]?.count == 0 {
      lanes[owner] = nil
      turns.remove(owner)
    }
    return element
  }
}

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
