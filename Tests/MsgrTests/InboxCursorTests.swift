internal import MsgrProtocol
internal import TestSupport
internal import Testing

@testable import Msgr

@Suite struct InboxCursorTests {
  private func id(_ number: Int64) -> MessageID { MessageID(rawValue: number) }

  @Test func readsOnWhileThereIsNews() {
    var cursor = InboxCursor(after: id(5))
    let read1 = cursor.nextRead(isBackedUp: false)
    #expect(read1 == id(5))
    // One read at a time; news meanwhile is not lost.
    cursor.noteNews()
    let read2 = cursor.nextRead(isBackedUp: false)
    #expect(read2 == nil)
    cursor.finishRead(last: id(7), mayBeMore: false)
    let read3 = cursor.nextRead(isBackedUp: true)
    #expect(read3 == nil)
    let read4 = cursor.nextRead(isBackedUp: false)
    #expect(read4 == id(7))
    cursor.finishRead(last: nil, mayBeMore: false)
    let read5 = cursor.nextRead(isBackedUp: false)
    #expect(read5 == nil)
  }

  @Test func readsOnAfterAFullPage() {
    var cursor = InboxCursor(after: .zero)
    _ = cursor.nextRead(isBackedUp: false)
    cursor.finishRead(last: id(100), mayBeMore: true)
    let read6 = cursor.nextRead(isBackedUp: false)
    #expect(read6 == id(100))
  }

  @Test func takesPagesOnceItHasCaughtUp() {
    var cursor = InboxCursor(after: id(5))
    // It has to read by itself first, from before the page.
    let early = cursor.takePage(after: id(9), upTo: id(10), isBackedUp: false)
    #expect(early == nil)
    _ = cursor.nextRead(isBackedUp: false)
    let during = cursor.takePage(after: id(10), upTo: id(12), isBackedUp: false)
    #expect(during == nil)
    cursor.finishRead(last: id(12), mayBeMore: false, tail: id(10))
    // What came during the read was in it.
    let noRead = cursor.nextRead(isBackedUp: false)
    #expect(noRead == nil)
    let position = cursor.takePage(after: id(12), upTo: id(13), isBackedUp: false)
    #expect(position == id(12))
    #expect(cursor.streamed == id(13))
    let known = cursor.takePage(after: id(12), upTo: id(13), isBackedUp: false)
    #expect(known == id(13))
  }

  @Test func takesPagesBehindAnEmptyRead() {
    var cursor = InboxCursor(after: id(5))
    _ = cursor.nextRead(isBackedUp: false)
    cursor.finishRead(last: nil, mayBeMore: false, tail: id(8))
    let position = cursor.takePage(after: id(8), upTo: id(9), isBackedUp: false)
    #expect(position == id(5))
    // There may be something between.
    let later = cursor.takePage(after: id(11), upTo: id(12), isBackedUp: false)
    #expect(later == nil)
    let read = cursor.nextRead(isBackedUp: false)
    #expect(read == id(9))
  }

  @Test func aSlowPeersStreamReadsByItself() {
    var cursor = InboxCursor(after: id(5))
    _ = cursor.nextRead(isBackedUp: false)
    cursor.finishRead(last: nil, mayBeMore: false, tail: id(5))
    let page = cursor.takePage(after: id(5), upTo: id(6), isBackedUp: true)
    #expect(page == nil)
    let next = cursor.takePage(after: id(6), upTo: id(7), isBackedUp: false)
    #expect(next == nil)
    let read = cursor.nextRead(isBackedUp: false)
    #expect(read == id(5))
    // What was there is gone, and is not asked for again.
    cursor.finishRead(last: nil, mayBeMore: false, tail: id(5))
    let again = cursor.nextRead(isBackedUp: false)
    #expect(again == nil)
  }

  @Test func answeredPingsConfirm() {
    var cursor = InboxCursor(after: id(1))
    _ = cursor.nextRead(isBackedUp: false)
    cursor.finishRead(last: id(3), mayBeMore: false)
    let isNews1 = cursor.notePong()
    #expect(!isNews1)
    cursor.notePing()
    cursor.noteNews()
    _ = cursor.nextRead(isBackedUp: false)
    cursor.finishRead(last: id(4), mayBeMore: false)
    let isNews2 = cursor.notePong()
    #expect(isNews2)
    #expect(cursor.confirmed == id(3))
    let isNews3 = cursor.notePong()
    #expect(!isNews3)
    #expect(cursor.streamed == id(4))
  }

  @Test(arguments: [(true, 3), (false, 1)] as [(Bool, Int64)])
  func aCloseInOrderConfirms(_ inOrder: Bool, _ confirmed: Int64) {
    var cursor = InboxCursor(after: id(1))
    _ = cursor.nextRead(isBackedUp: false)
    cursor.finishRead(last: id(3), mayBeMore: false)
    cursor.finish(inOrder: inOrder)
    #expect(cursor.confirmed == id(confirmed))
  }
}
