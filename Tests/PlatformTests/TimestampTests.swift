internal import Foundation
internal import Platform
internal import Testing

@Suite struct TimestampTests {
  @Test(arguments: [
    (0, "1970-01-01T00:00:00.000Z"), (951_782_399_999, "2000-02-28T23:59:59.999Z"),
    (951_782_400_000, "2000-02-29T00:00:00.000Z"), (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
    (-1, "1969-12-31T23:59:59.999Z"), (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"),
    (.min, "-292275055-05-16T16:47:04.192Z"), (.max, "292278994-08-17T07:12:55.807Z"),
  ])
  func description(_ milliseconds: Int64, _ text: String) {
    #expect("\(Timestamp(milliseconds: milliseconds))" == text)
  }

  @Test func agreesWithFoundation() {
    let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    for day in stride(from: Int64(-25_000), to: 60_000, by: 13) {
      let moment = Timestamp(milliseconds: day * 86_400_000 + 45_296_789)
      let date = Date(timeIntervalSince1970: Double(moment.seconds))
      #expect("\(moment)".prefix(19) == style.format(date).prefix(19))
    }
  }

  @Test func secondsRoundDown() {
    #expect(Timestamp(milliseconds: -1).seconds == -1)
    #expect(Timestamp(milliseconds: 1999).seconds == 1)
    #expect(Timestamp(seconds: 7).milliseconds == 7000)
  }

  @Test func secondsBeyondTheRangeAreTheFirstAndTheLastMoment() {
    #expect(Timestamp(seconds: .max).milliseconds == .max)
    #expect(Timestamp(seconds: .min).milliseconds == .min)
    #expect(Timestamp(seconds: .min).seconds == Int64.min / 1000 - 1)
    #expect("\(Timestamp(seconds: .min))".hasSuffix("T16:47:04.192Z"))
  }
}

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
