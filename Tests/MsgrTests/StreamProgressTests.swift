internal import Testing

@testable import Msgr

@Suite struct StreamProgressTests {
  private func id(_ number: Int64) -> MessageID { MessageID(rawValue: number) }

  @Test func readsOnWhileThereIsNews() {
    var progress = StreamProgress(behind: id(5))
    let read1 = progress.nextRead(isBackedUp: false)
    #expect(read1 == id(5))
    // One read at a time; news meanwhile is not lost.
    progress.noteNews()
    let read2 = progress.nextRead(isBackedUp: false)
    #expect(read2 == nil)
    progress.finishRead(last: id(7), mayBeMore: false)
    let read3 = progress.nextRead(isBackedUp: true)
    #expect(read3 == nil)
    let read4 = progress.nextRead(isBackedUp: false)
    #expect(read4 == id(7))
    progress.finishRead(last: nil, mayBeMore: false)
    let read5 = progress.nextRead(isBackedUp: false)
    #expect(read5 == nil)
  }

  @Test func readsOnAfterAFullPage() {
    var progress = StreamProgress(behind: .zero)
    _ = progress.nextRead(isBackedUp: false)
    progress.finishRead(last: id(100), mayBeMore: true)
    let read6 = progress.nextRead(isBackedUp: false)
    #expect(read6 == id(100))
  }

  @Test func answeredPingsConfirm() {
    var progress = StreamProgress(behind: id(1))
    _ = progress.nextRead(isBackedUp: false)
    progress.finishRead(last: id(3), mayBeMore: false)
    let answer1 = progress.notePong()
    #expect(!answer1)
    progress.notePing()
    progress.noteNews()
    _ = progress.nextRead(isBackedUp: false)
    progress.finishRead(last: id(4), mayBeMore: false)
    let answer2 = progress.notePong()
    #expect(answer2)
    #expect(progress.confirmed == id(3))
    let answer3 = progress.notePong()
    #expect(!answer3)
    #expect(progress.streamed == id(4))
  }

  @Test(arguments: [(true, 3), (false, 1)] as [(Bool, Int64)])
  func aCloseInOrderConfirms(_ inOrder: Bool, _ confirmed: Int64) {
    var progress = StreamProgress(behind: id(1))
    _ = progress.nextRead(isBackedUp: false)
    progress.finishRead(last: id(3), mayBeMore: false)
    progress.finish(inOrder: inOrder)
    #expect(progress.confirmed == id(confirmed))
  }
}
