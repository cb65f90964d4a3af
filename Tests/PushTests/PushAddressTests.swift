internal import Cryptography
internal import Testing

@testable import Push

/// The forms of addresses.
struct PushAddressTests {
  @Test func addressesHaveTheirForms() throws {
    for (kind, text, isGood) in [
      (.apns, ("a1", 32), true), (.apns, ("a1", 31), false), (.apns, ("g1", 32), false),
      (.apnsSandbox, ("a1", 100), true), (.fcm, ("t:", 16), true), (.fcm, ("t", 31), false),
      (.fcm, ("t", 1024), true), (.fcm, ("t", 1025), false), (.fcm, ("é", 40), false),
      (.web, ("https://push.example/", 1), false),
    ] as [(PushKind, (String, Int), Bool)] {
      let address = try? PushAddress(kind, text: String(repeating: text.0, count: text.1))
      #expect((address != nil) == isGood, "\(kind) \(text)")
    }
    let keys = try P256KeyPair().publicKey.bytes + [UInt8](repeating: 7, count: 16)
    func web(_ url: String, _ keys: [UInt8]) throws -> PushAddress {
      try PushAddress(.web, bytes: keys + Array(url.utf8))
    }
    let address = try web("https://push.example/secret", keys)
    #expect(address.text == "https://push.example/secret")
    #expect("\(address)" == "https://push.example")
    #expect(throws: PushAddressError.self) { try web("https://push.example:444/", keys) }
    let short = Array(keys.dropLast(20))
    #expect(throws: PushAddressError.self) { try web("https://push.example/", short) }
    #expect(throws: PushAddressError.self) { try web("https://push.example/", keys.map { _ in 4 }) }
    #expect(throws: PushAddressError.self) { try PushAddress(.web, bytes: []) }
  }
}
