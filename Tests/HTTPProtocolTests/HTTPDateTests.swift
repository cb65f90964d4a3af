internal import HTTPProtocol
internal import TestSupport
internal import Testing

struct HTTPDateTests {
  static let now = HTTPDate(1_780_000_000)  // in 2026

  @Test(
    arguments: [
      ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
      ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
      ("Sun Nov  6 08:49:37 1994", 784_111_777),
      ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Thu, 1 Jan 1970 00:00:00 GMT", 0),
      ("Wed, 06 Nov 1994 08:49:37 GMT", 784_111_777),  // the weekday isn't trusted
      ("Thu, 29 Feb 2024 23:59:60 GMT", 1_709_251_200), ("Tue Nov 16 08:49:37 1999", 942_742_177),
      ("Wed, 31 Dec 1969 23:59:59 GMT", -1), ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
      ("Sat, 01 Jan 0000 00:00:00 GMT", -62_167_219_200),
      // Two digits: never more than 50 years ahead of 2026.
      ("Friday, 01-Jan-76 00:00:00 GMT", 3_345_062_400),
      ("Saturday, 01-Jan-77 00:00:00 GMT", 220_924_800),
    ] as [(String, Int64)])
  func reads(text: String, seconds: Int64) {
    #expect(HTTPDate(Array(text.utf8)[...], now: Self.now) == HTTPDate(seconds))
  }

  @Test(arguments: [
    "", "garbage", "0", "1780000000", "2099-01-01T00:00:00Z", "Sun, 32 Jan 2099 00:00:00 GMT",
    "Sun, 00 Jan 2099 00:00:00 GMT", "Sun, 01 Foo 2099 00:00:00 GMT", "Sun, 01 Jan",
    "Sun, 01 Jan 2099 25:00:00 GMT", "Sun, 01 Jan 2099 00:60:00 GMT",
    "Sun, 01 Jan 2099 00:00:61 GMT", "Thu, 01 Jan 99999 00:00:00 GMT", "Sun, 01 Jan 2099",
    "Sun, 01 Jan 2099 00:00:00", "Sun, 01 Jan 2099 00:00:00 GMT ", "Sun, 01 Jan 2099 00:00:00 UTC",
    "Sun, 01 Jan 2099 00:00:00 +0000", "Sun, 01 jan 2099 00:00:00 GMT",
    "Sun, 29 Feb 2023 00:00:00 GMT", "Sun, 29 Feb 2100 00:00:00 GMT",
    "Sun, 01-Jan-2099 00:00:00 GMT", "Sun, 01 Jan 99 00:00:00 GMT", "Sun,01 Jan 2099 00:00:00 GMT",
    "Sun, 1-1-99 00:00:00 GMT", "Sun, -1 Jan 2099 00:00:00 GMT", "Su, 01 Jan 2099 00:00:00 GMT",
    "Sunday Nov  6 08:49:37 1994", "Sun Nov  6 08:49:37 94", "Sun Nov 6  08:49:37 1994",
    ", 01 Jan 2099 00:00:00 GMT", String(repeating: "9", count: 5000),
  ])
  func refuses(text: String) {
    #expect(HTTPDate(Array(text.utf8)[...], now: Self.now) == nil)
  }

  @Test func everyPrefixIsRefused() {
    for text in [
      "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
    ] {
      for length in 0..<text.utf8.count {
        #expect(HTTPDate(Array(text.utf8.prefix(length))[...], now: Self.now) == nil)
      }
    }
  }

  @Test(
    arguments: [
      (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
      (-1, "Wed, 31 Dec 1969 23:59:59 GMT"), (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
      (4_107_542_399, "Sun, 28 Feb 2100 23:59:59 GMT"),
      (Int64.max, "Fri, 31 Dec 9999 23:59:59 GMT"),
      (Int64.min, "Mon, 01 Jan 0001 00:00:00 GMT"),
    ] as [(Int64, String)])
  func writes(seconds: Int64, text: String) {
    #expect(HTTPDate(seconds).text == text)
    #expect(HTTPDate(seconds).fieldLine == Array("Date: \(text)\r\n".utf8))
  }

  @Test(arguments: TestSeeds.random(1)) func whatIsWrittenIsRead(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<2000 {
      let date = HTTPDate(.random(in: -62_135_596_800...253_402_300_799, using: &generator))
      let bytes = Array(date.text.utf8)
      #expect(bytes.count == 29)
      #expect(HTTPDate(bytes[...], now: Self.now) == date)
    }
  }

  @Test(arguments: [Int64.min, -62_135_596_801, 0, 253_402_300_800, Int64.max])
  func anyPresentWillDo(now: Int64) {
    let text = Array("Sunday, 06-Nov-94 08:49:37 GMT".utf8)
    #expect(HTTPDate(text[...], now: HTTPDate(now)) != nil)
  }
}
