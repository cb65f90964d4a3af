internal import Testing
internal import Platform

@testable import XMLSecurity

@Suite struct DateTimeTests {
  @Test(arguments: [
    ("1970-01-01T00:00:00Z", 0),
    ("2024-02-29T23:59:59Z", 1_709_251_199),
    ("2024-01-01T00:00:00", 1_704_067_200),
    ("2024-01-01T10:00:00+10:00", 1_704_067_200),
    ("2023-12-31T18:30:00-05:30", 1_704_067_200),
    ("2024-01-01T00:00:00.999Z", 1_704_067_200),
    ("2023-12-31T24:00:00Z", 1_704_067_200),
    ("\n 2024-01-01T00:00:00Z ", 1_704_067_200),
    ("0001-01-01T00:00:00Z", -62_135_596_800),
    ("1969-12-31T23:59:59Z", -1),
    ("9999-12-31T23:59:59Z", 253_402_300_799),
  ])
  func reads(text: String, seconds: Int64) {
    #expect(Timestamp(dateTime: text) == Timestamp(seconds: seconds))
  }

  @Test(arguments: [
    "", "now", "2024-01-01", "2024-13-01T00:00:00Z", "2023-02-29T00:00:00Z",
    "2024-01-01T25:00:00Z", "2024-01-01T24:00:01Z", "2024-01-01T00:60:00Z",
    "2024-01-01T00:00:60Z", "2024-01-01T00:00:00.Z", "2024-01-01T00:00:00+1:00",
    "2024-01-01T00:00:00+15:00", "2024-01-01T00:00:00Zx", "0000-01-01T00:00:00Z",
    "2024-00-01T00:00:00Z", "2024-01-00T00:00:00Z", "-024-01-01T00:00:00Z",
    "２０２４-01-01T00:00:00Z",
  ])
  func refuses(text: String) {
    #expect(Timestamp(dateTime: text) == nil)
  }

  @Test(arguments: [
    Int64(0), -1, 1_709_251_199, 951_782_400, 4_107_542_400, -62_135_596_800, 253_402_300_799,
  ])
  func writesWhatItReads(seconds: Int64) throws {
    let time = Timestamp(seconds: seconds)
    #expect(Timestamp(dateTime: try #require(time.dateTime)) == time)
  }

  @Test func writesInRangeOnly() {
    #expect(Timestamp(seconds: 0).dateTime == "1970-01-01T00:00:00Z")
    #expect(Timestamp(seconds: 253_402_300_800).dateTime == nil)
    #expect(Timestamp(seconds: -62_135_596_801).dateTime == nil)
  }
}
