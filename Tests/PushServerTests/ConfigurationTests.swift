internal import Configuration
internal import Push
internal import TestSupport
internal import Testing

@testable import PushServer

/// The faults of the section `[pushserver]`.
@Suite struct ConfigurationTests {
  @Test(arguments: ["off", "apns", ""])
  func pushesAreOnOrInTheLog(_ choice: String) throws {
    let toml = """
      [server]
      public_url = "https://push.example"
      [pushserver]
      relay_key = "\(String(repeating: "a5", count: 32))"
      push = "\(choice)"
      """
    let reader = ConfigurationReader(
      try ConfigurationDocument(parsing: Array(toml.utf8), file: "awd.toml"))
    let section = reader.section("pushserver")
    _ = PushServerConfiguration(section)
    let error = #expect(throws: (any Error).self) { try section.finish() }
    #expect(error.map { "\($0)" }?.contains("awd.toml:5") == true)
    #expect(error.map { "\($0)" }?.contains("push") == true)
  }
}
