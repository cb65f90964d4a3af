internal import ApptimistProtocol
internal import Testing
internal import TestSupport

@testable import Apptimist

@Suite struct StoreSearchTests {
  private let fixture: StoreFixture

  init() { fixture = StoreFixture() }

  @Test(arguments: [
    ("anna", [1, 6, 2, 3]),
    ("ANNA", [1, 6, 2, 3]),
    ("ann", [1, 2, 3, 6]),
    ("a*a", [1, 6]),
    ("an?a", [1, 6]),
    ("?nna", [1, 6]),
    ("ann??", []),
    ("anna?*", [2, 3]),
    ("*", [1, 2, 3, 4, 5, 6, 7]),
    ("*l*", [2, 5]),
    ("*L*A", [5]),
    ("straße", [4]),
    ("STRASSE", [4]),
    ("stra??e", [4]),
    ("stra?e", []),
    ("E\u{301}lodia", [5]),
    ("\u{C9}LO", [5]),
    ("e", []),
    ("?lodia", [5]),
    ("", []),
    ("anna\u{10FFFF}", []),
    ("100%_", [7]),
    ("100?_", [7]),
  ])
  func namesAreFoundWholeThenByTheirBeginningOrByAGlob(
    _ query: String, _ expected: [Int]
  ) async throws {
    let store = try await fixture.open()
    let names = ["Anna", "Annabel", "anna b", "Straße", "\u{E9}lodia", "aNNa", "100%_"]
    for (number, name) in names.enumerated() {
      #expect(try await store.makeUser(number + 1, name: name) == .created)
    }
    let found = try await store.search(name: query, max: 0)
    #expect(found.map(\.key) == expected.map(StoreFixture.key))
    #expect(found.allSatisfy { names.contains($0.name) && $0.uid.hasPrefix("uid ") })
    let two = try await store.search(name: query, max: 2)
    #expect(two == Array(found.prefix(2)))
  }

  @Test func forumsAreFoundBesideUsersWithinTheLimit() async throws {
    var limits = ApptimistStore.Limits()
    limits.found = 2
    let store = try await fixture.open(limits)
    #expect(try await store.makeUser(1, name: "Club", uid: "u") == .created)
    #expect(try await store.makeForum(2, name: "club", author: 1) == .done)
    #expect(try await store.makeUser(3, name: "club", uid: "u") == .created)
    for max in [0, 2, 3, 65_535] {
      let found = try await store.search(name: "club", max: max)
      #expect(found.map(\.key) == [1, 2].map(StoreFixture.key))
      #expect(found.map(\.uid) == ["u", ""])
    }
    #expect(try await store.search(uid: "u", max: 1).map(\.key) == [StoreFixture.key(1)])
    #expect(try await store.search(uid: "u", max: 0).map(\.key) == [1, 3].map(StoreFixture.key))
    #expect(try await store.search(uid: "", max: 0).isEmpty)
    #expect(try await store.search(uid: "U", max: 0).isEmpty)
    #expect(try await store.search(key: StoreFixture.key(2))?.name == "club")
    #expect(try await store.search(key: StoreFixture.key(4)) == nil)
  }

  /// Compares globs with a matcher that tries everything.
  @Test(arguments: TestSeeds.random(20))
  func aGlobMatchesWhatTryingEverythingMatches(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    func matches(_ pattern: Substring.UnicodeScalarView, _ name: Substring.UnicodeScalarView)
      -> Bool
    {
      guard let first = pattern.first else { return name.isEmpty }
      if first == "*" {
        return matches(pattern.dropFirst(), name)
          || (!name.isEmpty && matches(pattern, name.dropFirst()))
      }
      guard let scalar = name.first, first == "?" || first == scalar else { return false }
      return matches(pattern.dropFirst(), name.dropFirst())
    }
    for _ in 0..<500 {
      let pattern = String((0..<generator.pick(0...7)).map { _ in "**?aabö€".pick(&generator) })
      let name = String((0..<generator.pick(0...9)).map { _ in "aabö€😀".pick(&generator) })
      var steps = 100_000
      let text = try #require(SearchText(pattern))
      let bytes = Array(name.utf8)
      let answer = NamePattern(text).matches(bytes.span, steps: &steps)
      let expected = matches(
        Substring(pattern).unicodeScalars, Substring(name).unicodeScalars)
      #expect(answer == expected, "\(pattern) on \(name)")
    }
  }

  @Test func aGlobEndsWhenItsStepsAreUsedUp() throws {
    let pattern = NamePattern(
      try #require(SearchText("*" + String(repeating: "a", count: 120) + "b")))
    let name = Array(repeating: UInt8(ascii: "a"), count: 255)
    var steps = 1000
    #expect(!pattern.matches(name.span, steps: &steps))
    #expect(steps == 0)
  }

  @Test(arguments: [
    ("ABC xyz", "abc xyz"), ("\u{C9}", "\u{E9}"), ("E\u{301}", "\u{E9}"), ("ẞ", "ss"),
    ("Σς", "σσ"), ("İ", "i\u{307}"), ("ﬁ", "fi"), ("\u{1F88}", "\u{1F00}\u{3B9}"), ("日本", "日本"),
  ])
  func aNameIsNormalizedAndFolded(_ name: String, _ expected: String) throws {
    #expect(try #require(SearchText(name)).bytes == Array(expected.utf8))
  }

  @Test func aTextThatIsLongerThanANameCanBeIsNotNormalized() {
    #expect(SearchText(String(repeating: "é", count: 512)) != nil)
    #expect(SearchText(String(repeating: "é", count: 513)) == nil)
    #expect(SearchText(String(repeating: "\u{390}", count: 512)) != nil)
  }
}

extension SeededGenerator {
  mutating func pick(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self) }
}

extension String {
  fileprivate func pick(_ generator: inout SeededGenerator) -> Character {
    randomElement(using: &generator) ?? "a"
  }
}
