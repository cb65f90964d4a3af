internal import TestSupport
internal import Testing

@testable import Formats

@Suite struct JSONObjectReaderTests {
  private typealias Member = JSONObjectReader.Member

  private func members(_ text: String) -> [Member]? {
    JSONObjectReader.members(of: Array(text.utf8))
  }

  @Test func readsStringsAndSkipsTheRest() {
    let text =
      #"{"a":"\u00e9\uD83D\uDE00\n\"\u0000","b":[{"a":"x"}, 1.5e-3],"c":{},"":"","d":["x","y"]}"#
    #expect(
      members(text) == [
        Member(name: "a", value: .text("é😀\n\"\0")), Member(name: "b", value: .other),
        Member(name: "c", value: .other), Member(name: "", value: .text("")),
        Member(name: "d", value: .list(["x", "y"])),
      ])
    #expect(members(" {\r\n\t} ") == [])
  }

  @Test(
    arguments: [
      #""\ud83d\u0041""#, #""\ude00""#, #""\ud83dx""#, #""\ud83d\n""#, "1e999", "01", "[1,]",
      #"{"b":1,"b":2}"#, "\"\u{1}\"", "NaN", "'x'",
    ])
  func refuses(_ value: String) {
    #expect(members("{\"a\":\(value)}") == nil)
  }

  @Test(arguments: [
    #"{"a":1,"a":1}"#, #"{"a":1,"\u0061":1}"#, #"{"a\u0000":1}"#, "{}{}", "[]", "1", "",
    "\u{feff}{}",
  ])
  func isNoObjectToTake(_ text: String) {
    #expect(members(text) == nil)
  }

  @Test(
    arguments: [
      ("0", 0), ("-0", 0), ("42", 42), ("-7", -7), ("1.0", 1), ("1e3", 1000),
      ("9007199254740992", 9_007_199_254_740_992), ("9007199254740994", nil),
      ("12345678901234567890123", nil), ("1.5", nil),
    ] as [(String, Int64?)])
  func readsWholeNumbersThatFit(_ number: String, _ value: Int64?) {
    #expect(
      members("{\"a\":\(number)}")
        == [Member(name: "a", value: value.map { .integer($0) } ?? .fraction(Double(number) ?? 0))])
  }

  @Test func noPrefixIsAnObject() {
    let whole = Array(#"{"a":"\u00e9","b":[{"c":-1.5e+3},true,null],"d":""}"#.utf8)
    #expect(JSONObjectReader.members(of: whole) != nil)
    for length in 0..<whole.count {
      #expect(JSONObjectReader.members(of: Array(whole.prefix(length))) == nil)
    }
  }

  @Test func nestingEnds() {
    func nested(_ depth: Int) -> String {
      "{\"a\":" + String(repeating: "[", count: depth) + String(repeating: "]", count: depth) + "}"
    }
    #expect(members(nested(2047)) != nil)
    #expect(members(nested(2048)) == nil)
    #expect(members(nested(30_000)) == nil)
  }

  /// A tree of 64 KiB of nothing but elements costs milliseconds before anybody looks at it.
  @Test func moreElementsThanAnybodyNeedsAreRefusedUnread() {
    let members = (0..<4000).map { "\"\($0)\":0" }.joined(separator: ",")
    #expect(self.members("{\(members)}")?.count == 4000)
    let many = (0..<8000).map { "\"\($0)\":0" }.joined(separator: ",")
    #expect(self.members("{\(many)}") == nil)
    let lists = String(repeating: "[],", count: 9000)
    #expect(self.members(#"{"a":[\#(lists)0]}"#) == nil)
    // What only looks like elements is text.
    let text = String(repeating: "[,{\\\"", count: 8000)
    #expect(self.members("{\"a\":\"\(text)\"}") != nil)
  }

  @Test(arguments: TestSeeds.random(1))
  func anyBytesAreSurvived(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let alphabet = Array("{}[]\",:\\u0d8ab-+.e1tfn \u{1}é".utf8)
    for _ in 0..<20_000 {
      let count = Int.random(in: 0...24, using: &generator)
      var bytes: [UInt8] = [UInt8(ascii: "{")]
      for _ in 0..<count { bytes.append(alphabet.randomElement(using: &generator) ?? 0) }
      _ = JSONObjectReader.members(of: bytes)
    }
  }
}
