import Cluster
import Testing

@Suite struct CursorTests {
  private func at(_ number: Int64) -> Sparse { Sparse(rawValue: number) }

  private func entry(_ position: Int64, after predecessor: Int64) -> EntryUpdate<Sparse, Void> {
    .entry(StreamEntry((), at: at(position), after: at(predecessor)))
  }

  /// A cursor that has read everything up to its start.
  private func cursor(after start: Int64) -> Cursor<Sparse> {
    var cursor = Cursor(after: at(start), runLimit: 2)
    _ = cursor.nextRead()
    cursor.finishRead(end: at(start), isLast: true)
    return cursor
  }

  @Test func anEntryIsSentAtItsPredecessorOnly() {
    var cursor = cursor(after: 5)
    #expect(cursor.apply(entry(9, after: 7), isReady: true) == nil)
    #expect(cursor.nextRead() == at(5))
    // One read at a time, while what comes next is sent nevertheless.
    #expect(cursor.nextRead() == nil)
    #expect(cursor.apply(entry(7, after: 5), isReady: true)?.position == at(7))
    cursor.pass(at(7))
    #expect(!cursor.wants(at(7)) && cursor.wants(at(9)))
    cursor.finishRead(end: at(9), isLast: true)
    #expect(cursor.position == at(9) && !cursor.wantsRead)
    #expect(cursor.apply(entry(9, after: 7), isReady: true) == nil)
  }

  @Test func anEntryThatCannotBeSentNowIsRead() {
    var cursor = cursor(after: 5)
    #expect(cursor.apply(entry(6, after: 5), isReady: false) == nil)
    #expect(cursor.nextRead() == at(5))
    cursor.finishRead(end: nil, isLast: false)
    #expect(cursor.nextRead() == at(5))
  }

  @Test func whatWasStoredBeforeAReadIsReadOrGone() {
    var cursor = cursor(after: 5)
    #expect(cursor.apply(entry(6, after: 5), isReady: false) == nil)
    #expect(cursor.apply(EntryUpdate<Sparse, Void>.stored(upTo: at(8)), isReady: true) == nil)
    #expect(cursor.nextRead() == at(5))
    cursor.finishRead(end: at(5), isLast: true)
    #expect(cursor.position == at(8) && !cursor.wantsRead)
  }

  @Test func aRumorIsAReasonToReadAndNothingElse() {
    var cursor = cursor(after: 5)
    #expect(cursor.apply(EntryUpdate<Sparse, Void>.rumor(upTo: at(5)), isReady: true) == nil)
    #expect(!cursor.wantsRead)
    #expect(cursor.apply(EntryUpdate<Sparse, Void>.rumor(upTo: at(.max)), isReady: true) == nil)
    #expect(cursor.nextRead() == at(5))
    cursor.finishRead(end: at(5), isLast: true)
    #expect(cursor.position == at(5) && !cursor.wantsRead)
  }

  @Test func entriesThatNeedNoSendingArePassed() {
    var cursor = cursor(after: 1)
    cursor.skip(at(4), after: at(3))
    cursor.skip(at(6), after: at(4))
    #expect(cursor.position == at(1) && cursor.wants(at(3)) && !cursor.wants(at(6)))
    cursor.pass(at(3))
    #expect(cursor.position == at(6) && !cursor.wantsRead)
    cursor.skip(at(.max), after: at(6))
    #expect(cursor.position == at(.max))
  }
}
