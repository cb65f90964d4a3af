internal import TestSupport
internal import Testing

@testable import Storage

@Suite struct StatementCacheTests {
  /// Statements that each return their own number, more than the cache has room for at first.
  private static let texts: [StaticString] = [
    "SELECT 0", "SELECT 1", "SELECT 2", "SELECT 3", "SELECT 4", "SELECT 5", "SELECT 6", "SELECT 7",
    "SELECT 8", "SELECT 9", "SELECT 10", "SELECT 11", "SELECT 12", "SELECT 13", "SELECT 14",
    "SELECT 15", "SELECT 16", "SELECT 17", "SELECT 18", "SELECT 19", "SELECT 20", "SELECT 21",
    "SELECT 22", "SELECT 23", "SELECT 24", "SELECT 25", "SELECT 26", "SELECT 27", "SELECT 28",
    "SELECT 29", "SELECT 30", "SELECT 31", "SELECT 32", "SELECT 33", "SELECT 34", "SELECT 35",
    "SELECT 36", "SELECT 37", "SELECT 38", "SELECT 39", "SELECT 40", "SELECT 41", "SELECT 42",
    "SELECT 43", "SELECT 44", "SELECT 45", "SELECT 46", "SELECT 47", "SELECT 48", "SELECT 49",
    "SELECT 50", "SELECT 51", "SELECT 52", "SELECT 53", "SELECT 54", "SELECT 55", "SELECT 56",
    "SELECT 57", "SELECT 58", "SELECT 59", "SELECT 60", "SELECT 61", "SELECT 62", "SELECT 63",
    "SELECT 64", "SELECT 65", "SELECT 66", "SELECT 67", "SELECT 68", "SELECT 69", "SELECT 70",
    "SELECT 71", "SELECT 72", "SELECT 73", "SELECT 74", "SELECT 75", "SELECT 76", "SELECT 77",
    "SELECT 78", "SELECT 79", "SELECT 80", "SELECT 81", "SELECT 82", "SELECT 83", "SELECT 84",
    "SELECT 85", "SELECT 86", "SELECT 87", "SELECT 88", "SELECT 89", "SELECT 90", "SELECT 91",
    "SELECT 92", "SELECT 93", "SELECT 94", "SELECT 95", "SELECT 96", "SELECT 97", "SELECT 98",
    "SELECT 99", "SELECT 100", "SELECT 101", "SELECT 102", "SELECT 103", "SELECT 104",
    "SELECT 105", "SELECT 106", "SELECT 107", "SELECT 108", "SELECT 109", "SELECT 110",
    "SELECT 111", "SELECT 112", "SELECT 113", "SELECT 114", "SELECT 115", "SELECT 116",
    "SELECT 117", "SELECT 118", "SELECT 119", "SELECT 120", "SELECT 121", "SELECT 122",
    "SELECT 123", "SELECT 124", "SELECT 125", "SELECT 126", "SELECT 127", "SELECT 128",
    "SELECT 129", "SELECT 130", "SELECT 131", "SELECT 132", "SELECT 133", "SELECT 134",
    "SELECT 135", "SELECT 136", "SELECT 137", "SELECT 138", "SELECT 139", "SELECT 140",
    "SELECT 141", "SELECT 142", "SELECT 143", "SELECT 144", "SELECT 145", "SELECT 146",
    "SELECT 147", "SELECT 148", "SELECT 149", "SELECT 150", "SELECT 151", "SELECT 152",
    "SELECT 153", "SELECT 154", "SELECT 155", "SELECT 156", "SELECT 157", "SELECT 158",
    "SELECT 159", "SELECT 160", "SELECT 161", "SELECT 162", "SELECT 163", "SELECT 164",
    "SELECT 165", "SELECT 166", "SELECT 167", "SELECT 168", "SELECT 169", "SELECT 170",
    "SELECT 171", "SELECT 172", "SELECT 173", "SELECT 174", "SELECT 175", "SELECT 176",
    "SELECT 177", "SELECT 178", "SELECT 179", "SELECT 180", "SELECT 181", "SELECT 182",
    "SELECT 183", "SELECT 184", "SELECT 185", "SELECT 186", "SELECT 187", "SELECT 188",
    "SELECT 189", "SELECT 190", "SELECT 191", "SELECT 192", "SELECT 193", "SELECT 194",
    "SELECT 195", "SELECT 196", "SELECT 197", "SELECT 198", "SELECT 199",
  ]

  @Test func everyTextKeepsItsOwnStatement() throws {
    let connection = try SQLiteConnection(.memory(), role: .writer, busyTimeout: .zero)
    let statements = try Self.texts.map(connection.statement)
    for (number, text) in Self.texts.enumerated() {
      #expect(try connection.statement(text) === statements[number])
      var results: [Int] = []
      try connection.forEach(text) { row in results.append(try row[0]) }
      #expect(results == [number])
    }
  }

  @Test func aBusyStatementIsNotSharedButStays() throws {
    let connection = try SQLiteConnection(.memory(), role: .writer, busyTimeout: .zero)
    let text: StaticString = "SELECT 1 UNION SELECT 2"
    let statement = try connection.statement(text)
    #expect(try statement.step())
    #expect(try connection.statement(text) !== statement)
    statement.reset()
    #expect(try connection.statement(text) === statement)
  }
}
