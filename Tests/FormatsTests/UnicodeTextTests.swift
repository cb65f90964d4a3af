internal import Formats
internal import Testing

@Suite struct UnicodeTextTests {
  @Test(arguments: [
    ("", ""), ("Anna", "Anna"),
    // A letter and its mark are one scalar, and marks are put in order.
    ("e\u{301}", "\u{e9}"), ("a\u{301}\u{323}", "\u{1ea1}\u{301}"),
    // A singleton, Hangul, and a composition that NFC excludes.
    ("\u{212b}", "\u{c5}"), ("\u{1100}\u{1161}\u{11a8}", "\u{ac01}"), ("\u{958}", "\u{915}\u{93c}"),
    // Compatibility characters stay.
    ("ﬁ²", "ﬁ²"),
  ])
  func normalizes(_ text: String, to expected: String) throws {
    // Strings compare equal in any form: their scalars tell the difference.
    let normal = try #require(UnicodeText.normalized(text))
    #expect(Array(normal.unicodeScalars) == Array(expected.unicodeScalars))
    let again = try #require(UnicodeText.normalized(normal))
    #expect(Array(again.unicodeScalars) == Array(expected.unicodeScalars))
  }

  @Test(arguments: [
    ("", ""), ("Anna", "Anna"), ("e\u{301}", "\u{e9}"), ("ﬁ²", "fi2"), ("１\u{a0}２", "1 2"),
    // The one that grows most.
    (
      "\u{fdfa}",
      "\u{635}\u{644}\u{649} \u{627}\u{644}\u{644}\u{647} \u{639}\u{644}\u{64a}\u{647} \u{648}\u{633}\u{644}\u{645}"
    ),
  ])
  func makesCompatible(_ text: String, to expected: String) throws {
    let made = try #require(UnicodeText.compatible(text))
    #expect(Array(made.unicodeScalars) == Array(expected.unicodeScalars))
  }

  @Test(arguments: [
    ("", ""), ("ANNA-Z@[`", "anna-z@[`"), ("STRASSE", "strasse"), ("Straße", "strasse"),
    ("ΣΊΣΥΦΟΣ", "σίσυφοσ"), ("E\u{301}", "\u{e9}"), ("\u{130}", "i\u{307}"), ("ǅ", "ǆ"),
    // Folding parts what NFC then puts together.
    ("\u{1f88}", "\u{1f00}\u{3b9}"), ("\u{345}\u{301}", "\u{301}\u{3b9}"),
  ])
  func foldsCase(_ text: String, to expected: String) throws {
    let folded = try #require(UnicodeText.caseFolded(text))
    let normal = try #require(UnicodeText.normalized(expected))
    #expect(Array(folded.unicodeScalars) == Array(normal.unicodeScalars))
  }

  @Test(arguments: ["a", "é", "\u{390}", "\u{1F600}", "\u{fdfa}"])
  func limitsTheLength(_ character: String) {
    let longest = String(repeating: character, count: UnicodeText.longest / character.utf16.count)
    #expect(UnicodeText.normalized(longest) != nil)
    #expect(UnicodeText.caseFolded(longest) != nil)
    #expect(UnicodeText.compatible(longest) != nil)
    #expect(UnicodeText.compatible(longest + "b") == nil)
    #expect(UnicodeText.normalized(longest + "b") == nil)
    #expect(UnicodeText.caseFolded(longest + "b") == nil)
  }
}

@Suite struct NameFaultTests {
  @Test(arguments: [
    "anna", "Zoë", "李雷", "o'neil", "anna smith", "علی", "अंजलि", "🙂", "a\u{308}b",
  ])
  func namesOfPeopleHaveNone(name: String) { #expect(NameFault.find(in: name) == nil) }

  @Test(arguments: [
    "Bank\u{fe0f}", "Bank\u{3164}", "Ba\u{34f}nk", "Bank\u{e0041}", "Ba\u{200d}nk", "Ba\u{ad}nk",
    "\u{200b}", "Ba\u{115f}nk", "\u{202e}knaB",
  ])
  func whatIsNotSeenIsFound(name: String) {
    #expect(NameFault.find(in: name) == .invisibleCharacter)
  }

  @Test(arguments: [
    " Bank", "Bank ", "My  Bank", "My\u{a0}Bank", "Bank\u{2800}", "My\u{3000}Bank", " ", "\u{2800}",
  ])
  func blanksThatAreNotSeenAreFound(name: String) { #expect(NameFault.find(in: name) == .blanks) }

  @Test(arguments: ["\u{301}", "\u{20dd}", ""])
  func marksAloneAreNothing(name: String) { #expect(NameFault.find(in: name) == .nothingVisible) }
}
