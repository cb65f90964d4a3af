internal import Cryptography
internal import Testing

@Suite struct PasswordHashTests {
  private let cheap = PasswordHash.Cost(passes: 1, memory: 8 << 10)

  @Test(arguments: ["", "secret", "zoe\u{308}", String(repeating: "x", count: 128)])
  func verifiesWhatWasHashed(_ password: String) throws {
    let bytes = Array(password.utf8)
    let hash = try PasswordHash(of: bytes, cost: cheap)
    #expect(hash.text.hasPrefix("$argon2id$v=19$m=8,t=1,p=1$"))
    #expect(try hash.verifies(bytes))
    #expect(try !hash.verifies(bytes + [0]))
    #expect(try PasswordHash(of: bytes, cost: cheap) != hash)
    #expect(PasswordHash(stored: hash.text) == hash)
  }

  /// Made by the reference implementation: `echo -n password | argon2 somesalt -id -t 2 -m 16 -p 1`.
  @Test func verifiesOthersHashes() throws {
    let stored =
      "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
    let hash = try #require(PasswordHash(stored: stored))
    #expect(try hash.verifies(Array("password".utf8)))
    #expect(try !hash.verifies(Array("Password".utf8)))
  }

  @Test func knowsItsCost() throws {
    let hash = try PasswordHash(of: [1], cost: cheap)
    #expect(!hash.differs(from: cheap))
    #expect(hash.differs(from: PasswordHash.Cost(passes: 2, memory: 8 << 10)))
    #expect(hash.differs(from: PasswordHash.Cost(passes: 1, memory: 16 << 10)))
  }

  @Test(arguments: [
    "", "secret", "$argon2i$v=19$m=8,t=1,p=1$", "$argon2id$" + String(repeating: "x", count: 200),
  ])
  func textsThatAreNone(_ text: String) {
    #expect(PasswordHash(stored: text) == nil)
  }
}
