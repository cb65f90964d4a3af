internal import TestSupport
internal import Testing

@testable import TokenScriptRepo

struct ClientRuleTests {
  @Test(arguments: [
    (">=1.0 <2.0", "1", true), (">=1.0 <2.0", "1.9.9", true), (">=1.0 <2.0", "2.0.0", false),
    (">=1.0 <2.0", "0.9", false), (">1", "1.0.0", false), (">1", "1.0.1", true),
    ("<=3.1", "3.1", true), ("<=3.1", "3.1.1", false), ("=1.10", "1.10", true),
    ("=1.10", "1.1", false), (">=1.2", "1.10", true), (">=1", "beta", false), (">=1", "", false),
    ("", "beta", true), ("", "", true),
  ])
  func aVersionLiesWithinOrNot(range: String, version: String, isWithin: Bool) throws {
    #expect(try #require(VersionRange(range)).contains(version) == isWithin)
  }

  @Test(arguments: ["1.0", ">= 1.0", "~1", ">=1.x", ">=", "=1..2", ">=-1", ">=+1"])
  func anythingElseIsNoRange(text: String) {
    #expect(VersionRange(text) == nil)
  }
}
