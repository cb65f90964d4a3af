internal import ApptimistProtocol
internal import Cluster
internal import TestSupport
internal import Testing

@testable import Apptimist

@Suite struct StreamCursorTests {
  private func position(_ number: Int64) -> MailboxPosition { MailboxPosition(rawValue: number) }

  @Test func readsUntilNothingIsLeft() {
    var stream = StreamCursor(after: position(3), ownLimit: 10)
    let read9 = stream.nextRead()
    #expect(read9 == position(3))
    let read10 = stream.nextRead()
    #expect(read10 == nil)
    stream.pass(position(5))
    stream.finishRead(end: position(5), isLast: false)
    let read11 = stream.nextRead()
    #expect(read11 == position(5))
    stream.finishRead(end: position(7), isLast: true)
    let read12 = stream.nextRead()
    #expect(read12 == nil)
    #expect(stream.position == position(7))
  }

  @Test func sendsAtOnceOnlyWhatIsNext() {
    var stream = StreamCursor(after: .zero, ownLimit: 10)
    let note1 = stream.sends(1, isReady: true)
    #expect(note1)
    stream.pass(position(1))
    let note2 = stream.sends(3, isReady: true)
    #expect(!note2)
    let note3 = stream.sends(2, isReady: true)
    #expect(note3)
    stream.pass(position(2))
    let note4 = stream.sends(2, isReady: true)
    #expect(!note4)
    let note5 = stream.sends(3, isReady: false)
    #expect(!note5)
    let read13 = stream.nextRead()
    #expect(read13 == position(2))
    stream.finishRead(end: position(3), isLast: true)
    let read14 = stream.nextRead()
    #expect(read14 == nil)
  }

  @Test func readsAgainAfterNewsThatCameMeanwhile() {
    var stream = StreamCursor(after: .zero, ownLimit: 10)
    let read15 = stream.nextRead()
    #expect(read15 == .zero)
    let note6 = stream.sends(2, isReady: true)
    #expect(!note6)
    stream.finishRead(end: position(1), isLast: true)
    let read16 = stream.nextRead()
    #expect(read16 == position(1))
  }

  @Test func doesNothingWhilePaused() {
    var stream = StreamCursor(after: .zero, ownLimit: 10)
    stream.isPaused = true
    let read17 = stream.nextRead()
    #expect(read17 == nil)
    let note7 = stream.sends(1, isReady: true)
    #expect(!note7)
    stream.isPaused = false
    let read18 = stream.nextRead()
    #expect(read18 == .zero)
    stream.isPaused = true
    stream.finishRead(end: nil, isLast: false)
    stream.isPaused = false
    let read19 = stream.nextRead()
    #expect(read19 == .zero)
  }

  @Test func leavesOutItsOwn() {
    var stream = StreamCursor(after: .zero, ownLimit: 10)
    stream.recordOwn(position(1))
    #expect(stream.position == position(1))
    stream.recordOwn(position(3))
    stream.recordOwn(position(4))
    #expect(stream.wants(position(2)) && !stream.wants(position(3)) && !stream.wants(position(1)))
    stream.pass(position(2))
    #expect(stream.position == position(4))
    let note8 = stream.sends(5, isReady: true)
    #expect(note8)
  }

  @Test func forgetsTheOldestOfItsOwnBeyondTheLimit() {
    var stream = StreamCursor(after: .zero, ownLimit: 2)
    for number in [2, 4, 6] as [Int64] { stream.recordOwn(position(number)) }
    #expect(stream.wants(position(2)))
    #expect(!stream.wants(position(4)) && !stream.wants(position(6)))
  }

  @Test func waitsForWhatMayBeItsOwn() {
    var stream = StreamCursor(after: .zero, ownLimit: 10)
    let read20 = stream.nextRead()
    #expect(read20 == .zero)
    stream.hold()
    stream.finishRead(end: nil, isLast: false)
    let read21 = stream.nextRead()
    #expect(read21 == nil)
    stream.recordOwn(position(1))
    stream.release()
    let read22 = stream.nextRead()
    #expect(read22 == position(1))
  }
}

extension StreamCursor {
  /// Whether an entry is to be sent when it is told.
  fileprivate mutating func sends(_ number: Int64, isReady: Bool) -> Bool {
    let position = MailboxPosition(rawValue: number)
    let entry = MailboxEntry(position: position, id: MessageID(), content: .truncation)
    return apply(.entry(StreamEntry(entry)), isReady: isReady)?.position == position
  }
}
