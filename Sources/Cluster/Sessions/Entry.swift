/// A place in the order of a user's entries.
///
/// The positions of a user rise; whether without gaps is the service's affair.
package protocol EntryPosition: RawRepresentable, Comparable, Hashable, Sendable
where RawValue == Int64 {}

/// An entry of a user's, such as a message in an inbox, that is on the disk.
package struct Entry<Position: EntryPosition, Content: Sendable>: Sendable {
  /// The entry's position.
  package let position: Position
  /// The last position before it that was given away: no other entry is between the two, and none will be.
  package let predecessor: Position
  /// The content that the service sends.
  package let content: Content

  /// Describes an entry.
  package init(_ content: Content, at position: Position, after predecessor: Position) {
    (self.content, self.position, self.predecessor) = (content, position, predecessor)
  }
}

/// News about a user's entries for a stream.
package enum EntryUpdate<Position: EntryPosition, Content: Sendable>: Sendable {
  /// An entry was made.
  case entry(Entry<Position, Content>)
  /// All entries up to a position are in the store.
  case stored(upTo: Position)
  /// There may be entries up to a position, as another node says; nothing else is believed.
  case rumor(upTo: Position)
}
