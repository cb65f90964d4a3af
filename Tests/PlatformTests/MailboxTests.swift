internal import Testing
internal import Platform

@Suite struct MailboxTests {
  @Test func givesElementsInOrder() async {
    let mailbox = Mailbox<Int>()
    for number in 0..<5 { mailbox.put(number) }
    #expect(await mailbox.next(within: .seconds(100)) == [0, 1, 2, 3, 4])
    #expect(await mailbox.next(within: .zero) == [])
  }

  @Test func wakesTheTaskThatWaits() async {
    let mailbox = Mailbox<Int>()
    async let taken = mailbox.next(within: .seconds(100))
    mailbox.put(1)
    #expect(await taken == [1])
  }

  @Test func endsTheWaitOfACancelledTask() async {
    let mailbox = Mailbox<Int>()
    let task = Task { await mailbox.next(within: .seconds(100)) }
    task.cancel()
    #expect(await task.value == [])
    async let taken = mailbox.next(within: .seconds(100))
    mailbox.put(2)
    #expect(await taken == [2])
  }

  /// The time may be over before the task has begun to wait.
  @Test(.timeLimit(.minutes(5))) func noWaitOutlastsAShortLimit() async {
    let mailbox = Mailbox<Int>()
    for nanoseconds in 0..<20_000 {
      #expect(await mailbox.next(within: .nanoseconds(nanoseconds - 1000)).isEmpty)
    }
  }
}
