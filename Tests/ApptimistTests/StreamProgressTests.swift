import Testing

@testable import Apptimist

@Suite("How far a stream has come") struct StreamProgressTests {
  private func position(_ number: Int64) -> StreamPosition { StreamPosition(rawValue: number) }

  @Test func readsUntilNothingIsLeft() {
    var stream = StreamProgress(after: position(3), ownLimit: 10)
    #expect(stream.nextRead() == position(3))
    #expect(stream.nextRead() == nil)
    stream.pass(position(5))
    stream.finishRead(end: position(5), isLast: false)
    #expect(stream.nextRead() == position(5))
    stream.finishRead(end: position(7), isLast: true)
    #expect(stream.nextRead() == nil)
    #expect(stream.cursor == position(7))
  }

  @Test func sendsAtOnceOnlyWhatIsNext() {
    var stream = StreamProgress(after: .zero, ownLimit: 10)
    #expect(stream.note(position(1), isReady: true))
    stream.pass(position(1))
    #expect(!stream.note(position(3), isReady: true))
    #expect(stream.note(position(2), isReady: true))
    stream.pass(position(2))
    #expect(!stream.note(position(2), isReady: true))
    #expect(!stream.note(position(3), isReady: false))
    #expect(stream.nextRead() == position(2))
    stream.finishRead(end: position(3), isLast: true)
    #expect(stream.nextRead() == nil)
  }

  @Test func readsAgainAfterNewsThatCameMeanwhile() {
    var stream = StreamProgress(after: .zero, ownLimit: 10)
    #expect(stream.nextRead() == .zero)
    #expect(!stream.note(position(2), isReady: true))
    stream.finishRead(end: position(1), isLast: true)
    #expect(stream.nextRead() == position(1))
  }

  @Test func doesNothingWhilePaused() {
    var stream = StreamProgress(after: .zero, ownLimit: 10)
    stream.pause()
    #expect(stream.nextRead() == nil)
    #expect(!stream.note(position(1), isReady: true))
    stream.resume()
    #expect(stream.nextRead() == .zero)
    stream.pause()
    stream.finishRead(end: nil, isLast: false)
    stream.resume()
    #expect(stream.nextRead() == .zero)
  }

  @Test func leavesOutItsOwn() {
    var stream = StreamProgress(after: .zero, ownLimit: 10)
    stream.noteOwn(position(1))
    #expect(stream.cursor == position(1))
    stream.noteOwn(position(3))
    stream.noteOwn(position(4))
    #expect(stream.wants(position(2)) && !stream.wants(position(3)) && !stream.wants(position(1)))
    stream.pass(position(2))
    #expect(stream.cursor == position(4))
    #expect(stream.note(position(5), isReady: true))
  }

  @Test func forgetsTheOldestOfItsOwnBeyondTheLimit() {
    var stream = StreamProgress(after: .zero, ownLimit: 2)
    for number in [2, 4, 6] as [Int64] { stream.noteOwn(position(number)) }
    #expect(stream.wants(position(2)))
    #expect(!stream.wants(position(4)) && !stream.wants(position(6)))
  }

  @Test func waitsForWhatMayBeItsOwn() {
    var stream = StreamProgress(after: .zero, ownLimit: 10)
    #expect(stream.nextRead() == .zero)
    stream.hold()
    stream.finishRead(end: nil, isLast: false)
    #expect(stream.nextRead() == nil)
    stream.noteOwn(position(1))
    stream.release()
    #expect(stream.nextRead() == position(1))
  }
}
