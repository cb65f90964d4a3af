internal import ServiceKit
internal import Testing

@Suite struct PrintableTests {
  @Test(arguments: [
    ("plain\ttext\n", "plain\ttext\n"), ("häß 💬\n", "häß 💬\n"),
    ("\u{1b}[2Jx\r\n", "\u{fffd}[2Jx\u{fffd}\n"), ("a\u{202e}b", "a\u{fffd}b"),
    ("a\u{9b}31mb", "a\u{fffd}31mb"), ("a\u{2028}b", "a\u{fffd}b"),
  ])
  func nothingReachesATerminalButText(_ text: String, _ printed: String) {
    #expect(text.printableLines == printed)
    #expect(
      text.filter { $0 != "\n" && $0 != "\t" && $0 != "\r\n" }.printable.unicodeScalars
        .allSatisfy { $0.properties.generalCategory != .control })
  }
}
