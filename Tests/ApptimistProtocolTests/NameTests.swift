internal import ApptimistProtocol
internal import Testing

@Suite struct NameTests {
  private static let longest = String(repeating: "é", count: 127) + "e"

  @Test(arguments: ["a", "Zoë 🐢", "a/b", ".", " ", "\u{2028}", longest])
  func accountNames(text: String) {
    let name = AccountName(text)
    #expect(name?.text == text)
    #expect(name?.bytes.bytes == Array(text.utf8))
    #expect(name.flatMap { AccountName($0.bytes) } == name)
  }

  /// These are empty, too long, have C0 with its line ends, DEL or C1, or are no UTF-8.
  @Test(arguments: ["", longest + "e", "a\0", "\n", "a\r\nb", "\t", "\u{7f}", "\u{85}", "a\u{9f}"])
  func noAccountNames(text: String) {
    #expect(AccountName(text) == nil)
    #expect(ShortBytes(text).flatMap { AccountName($0) } == nil)
  }

  @Test(arguments: ["a", "...", ".hidden", "a b", "\u{1}", "\u{7f}", "C:\\x", "🐢", longest])
  func filenames(text: String) {
    let name = Filename(text)
    #expect(name?.text == text)
    #expect(name.flatMap { Filename($0.bytes) } == name)
    #expect(name?.reserved == nil)
    #expect(name?.isHidden == text.hasPrefix("."))
  }

  @Test(arguments: ["", ".", "..", "a/b", "/", "a\0", longest + "e"])
  func noFilenames(text: String) {
    #expect(Filename(text) == nil)
    #expect(ShortBytes(text).flatMap { Filename($0) } == nil)
  }

  @Test(arguments: [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0x61, 0xc3]] as [[UInt8]])
  func noUTF8(bytes: [UInt8]) throws {
    let field = try #require(ShortBytes(bytes))
    #expect(field.text == nil)
    #expect(AccountName(field) == nil)
    #expect(Filename(field) == nil)
  }

  @Test func filenamesAreBytes() throws {
    let composed = try #require(Filename("\u{e9}"))
    let decomposed = try #require(Filename("e\u{301}"))
    #expect(composed != decomposed)
    #expect(Set([composed, decomposed, composed]).count == 2)
  }

  @Test(arguments: Filename.Reserved.allCases)
  func reservedNames(reserved: Filename.Reserved) {
    #expect(Filename(reserved).reserved == reserved)
    #expect(Filename(reserved.rawValue)?.reserved == reserved)
    #expect(Filename(reserved.rawValue.uppercased())?.reserved == nil)
  }

  @Test func shortBytesAreShort() {
    #expect(ShortBytes(filled(1, 255))?.count == 255)
    #expect(ShortBytes(filled(1, 256)) == nil)
    #expect(ShortBytes(String(repeating: "é", count: 128)) == nil)
  }
}
