/// A client that takes turns: at first its site does among sites, and then the client among those of its site.
@usableFromInline
package protocol WorkClient: Hashable, Sendable {
  /// A hash of the site that the client belongs to.
  var siteHash: Int { get }
}

extension Int: WorkClient {
  /// The number itself: a client that is known by a number alone is its own site.
  @inlinable package var siteHash: Int { self }
}

/// The owner of work that waits: a client in its site, and the account where there is one.
///
/// Sites take turns, and so do the clients of one site and the accounts of one client. Owners are known by hashes: two of the same
/// hash share their turns.
@usableFromInline
package struct WorkOwner: Sendable, Hashable {
  /// The owner that the present task's reads and writes are charged to; nil for nobody.
  @TaskLocal package static var current: WorkOwner?

  /// The number of owners that an element belongs to, from the site to the account.
  @inlinable package static var levels: Int { 3 }

  @usableFromInline let site: Int
  @usableFromInline let client: Int
  @usableFromInline let account: Int

  /// Makes an owner, or nil if there is neither a client nor an account.
  ///
  /// - Parameters:
  ///   - client: the network that the client is in, or nil if it has none.
  ///   - account: the account, or something that only this work has; nil if all work for the client is done in order.
  @inlinable
  package init?(client: (some WorkClient)?, account: (some Hashable)? = Int?.none) {
    if let client {
      site = client.siteHash
      self.client = client.hashValue
    } else if let account {
      site = account.hashValue
      self.client = site
    } else {
      return nil
    }
    self.account = account?.hashValue ?? 0
  }

  /// Makes an owner that is known by a number alone.
  @inlinable package init(number: Int) {
    site = number
    client = number
    account = 0
  }

  /// Returns the hash of the owner at a level, from 0 for the site.
  @inlinable package subscript(level: Int) -> Int {
    switch level {
    case 0: site
    case 1: client
    default: account
    }
  }
}

/// A bounded queue whose owners take turns: every site's first element comes before anybody's second one, and so on within a site
/// and a client. The elements of one owner keep their order.
@usableFromInline
package struct FairQueue<Element> {
  @usableFromInline package let limit: Int
  @usableFromInline package var lanes = TurnLane<Element>()
  /// The name of the last element that is nobody's. Hashes of others hardly come near it.
  @usableFromInline package var lastNumber = Int.min

  /// The number of elements that wait.
  @inlinable package var count: Int { lanes.count }

  /// Makes an empty queue.
  ///
  /// - Parameter limit: the number of elements that may wait.
  @inlinable
  package init(limit: Int) { self.limit = limit }

  /// Adds an element behind the others of its owner.
  ///
  /// - Parameter owner: the owner; nil if the element is nobody's, and has a turn of its own.
  /// - Returns: the element that has no place, or nil if there was room: the last one of the site with most elements; the last
  ///   of the client with most if no other site has more than the owner's, and so on; or the new one.
  @inlinable
  package mutating func append(_ element: Element, for owner: WorkOwner?) -> Element? {
    let owner = owner ?? nobody()
    var refused: Element?
    if count >= limit {
      refused = lanes.makeRoom(for: owner, at: 0)
      guard refused != nil else { return element }
    }
    lanes.append(element, for: owner, at: 0)
    return refused
  }

  @inlinable package mutating func nobody() -> WorkOwner {
    lastNumber &+= 1
    return WorkOwner(number: lastNumber)
  }

  /// Removes the next element, and returns it; nil if none waits.
  @inlinable
  package mutating func popFirst() -> Element? { lanes.popFirst() }

  /// Removes an element of an owner, which the queue holds at most once.
  ///
  /// - Returns: whether it was there.
  @inlinable
  package mutating func remove(_ element: Element, of owner: WorkOwner) -> Bool
  where Element: Equatable {
    lanes.remove(element, of: owner, at: 0)
  }
}

/// The elements of an owner, or of those that belong to it.
@usableFromInline
package struct TurnLane<Element> {
  /// The number of elements in it.
  @usableFromInline package var count = 0
  /// The elements of an account.
  @usableFromInline package var elements = FIFO<Element>()
  /// Those that belong to it and have elements.
  @usableFromInline package var lanes: [Int: TurnLane] = [:]
  /// Their turns, the next one first.
  @usableFromInline package var turns = FIFO<Int>()

  @inlinable package init() {}

  @inlinable
  package mutating func append(_ element: Element, for owner: WorkOwner, at level: Int) {
    count += 1
    guard level < WorkOwner.levels else {
      elements.append(element)
      return
    }
    let key = owner[level]
    if lanes[key] == nil { turns.append(key) }
    lanes[key, default: TurnLane()].append(element, for: owner, at: level + 1)
  }

  @inlinable
  package mutating func popFirst() -> Element? {
    if let element = elements.popFirst() {
      count -= 1
      return element
    }
    guard let key = turns.popFirst(), let lane = lanes.index(forKey: key),
      let element = lanes.values[lane].popFirst()
    else { return nil }
    count -= 1
    if lanes.values[lane].count == 0 { lanes.remove(at: lane) } else { turns.append(key) }
    return element
  }

  /// Removes the last element of the one who has most and more than an owner would have with one more, at the widest level where
  /// somebody has.
  ///
  /// - Returns: the element, or nil if nobody has more.
  @inlinable
  package mutating func makeRoom(for owner: WorkOwner, at level: Int) -> Element? {
    guard level < WorkOwner.levels else { return nil }
    let key = owner[level]
    let own = lanes[key]?.count ?? 0
    if let largest = largest, largest != key, (lanes[largest]?.count ?? 0) > own + 1 {
      return removeLast(of: largest)
    }
    // The lane isn't empty afterwards, as an owner that loses an element has at least two.
    guard let removed = lanes[key]?.makeRoom(for: owner, at: level + 1) else { return nil }
    count -= 1
    return removed
  }

  @inlinable
  package mutating func remove(_ element: Element, of owner: WorkOwner, at level: Int) -> Bool
  where Element: Equatable {
    guard level < WorkOwner.levels else {
      let before = elements.count
      elements.remove(element)
      count -= before - elements.count
      return elements.count < before
    }
    let key = owner[level]
    guard lanes[key]?.remove(element, of: owner, at: level + 1) == true else { return false }
    count -= 1
    removeIfEmpty(key)
    return true
  }

  @inlinable package var largest: Int? { lanes.max { $0.value.count < $1.value.count }?.key }

  @inlinable
  package mutating func removeLast(of key: Int) -> Element? {
    guard let element = lanes[key]?.removeLast() else { return nil }
    count -= 1
    removeIfEmpty(key)
    return element
  }

  @inlinable
  package mutating func removeLast() -> Element? {
    if let element = elements.popLast() {
      count -= 1
      return element
    }
    return largest.flatMap { removeLast(of: $0) }
  }

  @inlinable
  package mutating func removeIfEmpty(_ key: Int) {
    guard lanes[key]?.count == 0 else { return }
    lanes[key] = nil
    turns.remove(key)
  }
}

/// A queue in one array: its front is empty places, which are given back when they are half of it.
@usableFromInline
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
