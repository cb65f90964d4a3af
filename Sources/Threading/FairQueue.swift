/// A bounded queue whose owners take turns: the elements of one owner keep their order, and of all owners one element each
/// comes before the second of any.
public struct FairQueue<Owner: Hashable, Element> {
  private let limit: Int
  private var lanes: [Owner: [Element]] = [:]
  /// The owners of waiting elements, the next one first.
  private var turns: [Owner] = []
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
      refused = removeLast(of: largest.key)
    }
    if lanes[owner] == nil { turns.append(owner) }
    lanes[owner, default: []].append(element)
    count += 1
    return refused
  }

  /// Removes the next element, and returns it; nil if none waits.
  public mutating func popFirst() -> Element? {
    guard let owner = turns.first, let element = lanes[owner]?.removeFirst() else { return nil }
    turns.removeFirst()
    count -= 1
    if lanes[owner]?.isEmpty == true { lanes[owner] = nil } else { turns.append(owner) }
    return element
  }

  private mutating func removeLast(of owner: Owner) -> Element? {
    // An owner that loses has at least two elements, so that it keeps its turn.
    count -= 1
    return lanes[owner]?.removeLast()
  }
}
