internal import Foundation
internal import TestSupport
internal import Testing
internal import Platform

@testable import Observability

@Suite(.ownThreads) struct LogTests {
  /// Runs a closure that logs, and returns the written text.
  private func written(
    _ format: Log.Format, level: Log.Level = .debug, _ body: (Log) -> Void
  ) -> String {
    let pipe = Pipe()
    let log = Log(
      level: level, format: format, descriptor: pipe.fileHandleForWriting.fileDescriptor,
      clock: { Timestamp(milliseconds: 1_574_367_908_123) })
    body(log)
    log.flush(within: .seconds(60))
    pipe.fileHandleForWriting.closeFile()
    return String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
  }

  @Test func textLine() {
    let text = written(.text) {
      $0.with(["service": "msgr"]).warning("slow", ["ms": 1.5, "path": "/a b", "n": 3, "ok": true])
    }
    #expect(
      text
        == "2019-11-21T20:25:08.123Z warning slow service=msgr ms=1.5 path=\"/a b\" n=3 ok=true\n")
  }

  @Test func levelsBelowAreNeitherWrittenNorBuilt() {
    var built = false
    func expensive() -> String {
      built = true
      return ""
    }
    let text = written(.text, level: .warning) { log in
      log.info(expensive())
      log.setLevel(.error)
      log.warning("no")
      log.error("yes")
    }
    #expect(!built)
    #expect(text.hasSuffix("error   yes\n") && !text.contains("no\n"))
  }

  static let forgeries = [
    "a\n2019-11-21T20:25:08.123Z error forged", "a\r\nb", "\u{1b}[2J", "\u{2028}x", "\u{85}x",
    "\u{202e}txt", "quote\" level=error", "back\\slash", "\u{0}", "\u{e0001}", "",
  ]

  @Test(arguments: forgeries)
  func noValueEndsItsLineOrReachesTheTerminal(_ hostile: String) {
    for format in [Log.Format.text, .json] {
      let text = written(format) { $0.info(hostile, ["field": hostile]) }
      #expect(text.filter(\.isNewline) == "\n")
      let others: Set<Unicode.GeneralCategory> = [
        .control, .format, .lineSeparator, .paragraphSeparator,
      ]
      #expect(
        !text.dropLast().unicodeScalars.contains { others.contains($0.properties.generalCategory) })
    }
  }

  @Test(arguments: forgeries + ["häß 💬", "plain"])
  func jsonGivesBackWhatWasLogged(_ value: String) throws {
    let text = written(.json) {
      $0.info(value, ["value": value, "none": Double.nan, "took": Duration.microseconds(1500)])
    }
    let object = try #require(
      try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    #expect(object["message"] as? String == value)
    #expect(object["value"] as? String == value)
    #expect(object["level"] as? String == "info")
    #expect(object["time"] as? String == "2019-11-21T20:25:08.123Z")
    #expect(object["took"] as? Double == 1.5)
    #expect(object["none"] is NSNull)
  }

  @Test func aFloodOfEqualEventsIsCounted() {
    let text = written(.text) { log in
      let log = log.with(["service": "msgr"])
      for number in 0..<5000 { log.error("request failed", ["request": number]) }
      log.error("another failure")
      log.warning("request failed")
    }
    let lines = text.split(separator: "\n")
    #expect(lines.count == 103)
    #expect(lines.prefix(100).allSatisfy { $0.contains("error   request failed") })
    #expect(lines.filter { $0.contains("another failure") }.count == 1)
    #expect(lines.filter { $0.contains("warning request failed") }.count == 1)
    #expect(
      lines.last.map { $0.hasSuffix("error   request failed service=msgr more=4900 seconds=10") }
        == true)
  }

  @Test func theNumberOfEqualEventsIsToldWhenTheirSpanIsOver() {
    var rates = LogRates()
    let event = LogEvent(level: .info, message: "m", service: "")
    let start = ContinuousClock.now
    for _ in 0..<150 { _ = rates.admit(event, at: start) }
    #expect(rates.isCounting)
    let early = rates.drainSums(at: start + .seconds(9))
    let sums = rates.drainSums(at: start + .seconds(10))
    #expect(early.isEmpty && sums.map(\.count) == [50])
    #expect(!rates.isCounting)
    let isAdmitted = rates.admit(event, at: start + .seconds(10))
    #expect(isAdmitted)
    let rest = rates.drainSums(at: nil)
    #expect(rest.isEmpty)
  }

  @Test func eventsOfManyKindsAreToldTogether() {
    var rates = LogRates()
    let start = ContinuousClock.now
    for kind in 0..<300 {
      let event = LogEvent(level: .info, message: "\(kind)", service: "")
      for _ in 0..<101 { _ = rates.admit(event, at: start) }
    }
    let sums = rates.drainSums(at: start + .seconds(10))
    #expect(sums.count == 257)
    #expect(sums.filter { $0.event.message == "events of many kinds" }.map(\.count) == [44 * 101])
    #expect(!rates.isCounting)
  }

  @Test(arguments: [Log.Format.text, .json])
  func aStuckReaderCostsLinesAndNotTheCaller(_ format: Log.Format) async throws {
    let pipe = Pipe()
    let log = Log(
      format: format, descriptor: pipe.fileHandleForWriting.fileDescriptor)
    let line = String(repeating: "x", count: 1000)
    // Three times the capacity of the pipe and the buffer. Nobody reads until everything is logged.
    for number in 0..<4000 { log.info("\(number) \(line)") }
    async let reading = pipe.fileHandleForReading.readDataToEndOfFile()
    log.flush(within: .seconds(120))
    pipe.fileHandleForWriting.closeFile()
    let text = String(decoding: await reading, as: UTF8.self)
    let lines = text.split(separator: "\n")
    let notes = lines.filter { $0.contains("log lines dropped") }
    let dropped = notes.compactMap { $0.firstMatch(of: /lines"?[=:](\d+)/).flatMap { Int($0.1) } }
      .reduce(0, +)
    if format == .json {
      for line in lines { _ = try JSONSerialization.jsonObject(with: Data(line.utf8)) }
    }
    #expect(dropped > 0)
    #expect(lines.count - notes.count + dropped == 4000)
  }
}
