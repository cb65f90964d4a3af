internal import Configuration
internal import Fuzzing

/// A choice as a service has it.
private enum Policy: String, CaseIterable {
  case require, warn, off
}

/// Reads a configuration file of these bytes with every kind of key there is, and prints the outcome: nothing a file holds
/// may crash, overrun or hang.
@main enum ConfigurationFuzzer: Fuzzer {
  static func test(_ bytes: [UInt8]) {
    do throws(ConfigurationError) {
      let document = try ConfigurationDocument(parsing: bytes, file: "fuzz.toml")
      let reader = ConfigurationReader(document)
      let server = ServerConfiguration(reader, knownServices: ["tokenscript", "msgr"])
      precondition(server.threads ?? 0 >= 0 && server.limits.connections > 0)
      let section = reader.section("tokenscript")
      _ = section.path("repository", default: "")
      _ = section.choice("signature", default: Policy.require)
      _ = section.secret("password")
      _ = section.bool("verify_untrusted", default: false)
      _ = section.values("hosts", default: [], expected: "a string", parse: \.self)
      _ = section.dictionary("deployers")
      for client in section.tables("clients") {
        _ = client.string("name", default: "")
        _ = client.values("namespaces", default: [], expected: "a string", parse: \.self)
      }
      _ = reader.settings.map(\.description)
      try reader.finish()
    } catch {
      let problems = error.problems
      precondition(!problems.isEmpty)
      precondition(problems.allSatisfy { !$0.description.utf8.contains(UInt8(ascii: "\n")) })
    }
  }
}
