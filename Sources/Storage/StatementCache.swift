/// The prepared statements of a connection, found by the address of their text in the program.
///
/// Literals of the same address and length are the same text, and literals live forever. A dictionary's hash, which
/// resists attacks, would take a fifth of a short statement's time.
struct StatementCache {
  /// The slots, a power of two in number. At most half of them are taken.
  private var slots: [DatabaseStatement?] = Array(repeating: nil, count: 128)
  private var count = 0

  /// Returns the statement that was made of a text, if there is one.
  func statement(of sql: StaticString) -> DatabaseStatement? { slots[slot(of: sql)] }

  /// Adds a statement, in place of another of the same text.
  mutating func insert(_ statement: DatabaseStatement) {
    count += 1
    if count > slots.count / 2 {
      let smaller = slots
      slots = Array(repeating: nil, count: 2 * smaller.count)
      for case let statement? in smaller { slots[slot(of: statement.sql)] = statement }
    }
    slots[slot(of: statement.sql)] = statement
  }

  /// Releases all statements.
  mutating func removeAll() { self = StatementCache() }

  /// Returns the slot of a text's statement, or the free slot for it.
  private func slot(of sql: StaticString) -> Int {
    // The product's middle depends on all bits in which the addresses of a program differ.
    var slot = Int(truncatingIfNeeded: (sql.address &* 0x9e37_79b9_7f4a_7c15) >> 32)
    while true {
      slot &= slots.count - 1
      guard let other = slots[slot]?.sql else { return slot }
      if other.address == sql.address, other.utf8CodeUnitCount == sql.utf8CodeUnitCount {
        return slot
      }
      slot += 1
    }
  }
}

extension StaticString {
  fileprivate var address: UInt { withUTF8Buffer { UInt(bitPattern: $0.baseAddress) } }
}
