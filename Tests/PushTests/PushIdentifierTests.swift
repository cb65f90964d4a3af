internal import Testing

@testable import Push

struct PushIdentifierTests {
  @Test("Identifiers are random UUIDs in lower case, each another one")
  func form() {
    let identifiers = PushIdentifiers()
    // More than are made of the bytes that are fetched at once.
    let made = (0..<1000).map { _ in identifiers.next() }
    #expect(Set(made).count == made.count)
    for identifier in made {
      #expect(
        identifier.wholeMatch(
          of: /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/) != nil)
    }
  }
}
