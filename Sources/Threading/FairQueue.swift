/// A bounded queue whose owners take turns: the elements of one owner keep their order, and of all owners one element each
/// comes before the second of any.
public struct FairQueue<Owner: Hashable, Element> {
  /// A queue of two stacks: `incoming` is reversed into `outgoing` when that is empty.
  private struct Lane<Item> {
    private var incoming: [Item] = []
    private var outgoing: [Item] = []

    var count: Int { incoming.count + outgoing.count }

    mutating func append(_ item: Item) { incoming.append(item) }

    mutating func popFirst() -> Item? {
      if outgoing.isEmpty {
        guard incoming.count > 1 else { return incoming.popLast() }
        outgoing = incoming.reversed()
        incoming.removeAll(keepingCapacity: true)
      }
      return outgoing.popLast()
    }

    mutating func popLast() -> Item? {
      incoming.popLast() ?? (outgoing.isEmpty ? nil : outgoing.removeFirst())
    }
  }

  private let limit: Int
  private var lanes: [Owner: Lane<Element>] = [:]
  /// The owners of waiting elements, the next one first.
  private var turns = Lane<Owner>()
  /// The number of elements that wait.
  public private(set) var count = 0

  /// Makes an empty queue.
  ///
  /// - Parameter limit: the number of elements that may wait.
  public init(limit: Int) { self.limit = limit }

  /// Adds an element behind the others of its owner.
  ///
  /// - Parameters:
  ///   - element: the element.
  ///   - owner: the element's owner.
  /// - Returns: the element that has no place, or nil if there was room: the last one of the owner with most elements,
  ///   or the new one if no other owner has more elements than its own.
  public mutating func append(_ element: Element, for owner: Owner) -> Element? {
    var refused: Element?
    if count >= limit {
      guard let largest = lanes.max(by: { $0.value.count < $1.value.count }),
        largest.value.count > (lanes[owner]?.count ?? 0) + 1
      else { return element }
      // An owner that loses has at least two elements, so that it keeps its turn.
      refused = lanes[largest.key]?.popLast()
      count -= 1
    }
    if lanes[owner] == nil { turns.append(owner) }
    lanes[owner, default: Lane()].append(element)
    count += 1
    return refused
  }

  /// Removes the next element, and returns it; nil if none waits.
  public mutating func popFirst() -> Element? {
    guard let owner = turns.popFirst(), let element = lanes[owner]?.popFirst() else { return nil }
    count -= 1
    if lanes[owner]?.count == 0 { lanes[owner] = nil } else { turns.append(owner) }
    return element
  }
}
