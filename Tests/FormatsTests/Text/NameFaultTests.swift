internal import Formats
internal import Testing

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
