internal import Testing
internal import Platform

@Suite struct DurationTests {
  private static let table: [(duration: Duration, milliseconds: Int64)] = [
    (.zero, 0), (.milliseconds(1999), 1999), (.microseconds(1999), 1), (.microseconds(-1999), -1),
    (.seconds(Int64.max), .max), (.seconds(Int64.min), .min),
  ]

  @Test(arguments: table)
  func milliseconds(_ duration: Duration, _ expected: Int64) {
    #expect(duration.milliseconds == expected)
  }

  @Test func nanoseconds() {
    #expect(Duration.microseconds(3).nanoseconds == 3000)
    #expect(Duration.seconds(10_000_000_000).nanoseconds == .max)
  }

  @Test func momentsMove() {
    let moment = Timestamp(milliseconds: 5000)
    #expect(moment + .seconds(2) == Timestamp(milliseconds: 7000))
    #expect(moment - .seconds(2) == Timestamp(milliseconds: 3000))
    #expect(moment.duration(to: Timestamp(milliseconds: 4000)) == .seconds(-1))
  }

  @Test func momentsStayWithinWhatCanBeWritten() {
    let last = Timestamp(milliseconds: .max)
    let first = Timestamp(milliseconds: .min)
    #expect(last + .seconds(1) == last)
    #expect(first - .seconds(1) == first)
    #expect(last - .seconds(Int64.min) == last)
    #expect(first.duration(to: last) > .seconds(Int64.max / 1000))
  }
}
