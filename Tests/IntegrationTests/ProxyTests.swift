internal import Foundation
internal import TestSupport
internal import Testing

/// Debian's proxies in front of the server, which `make test` installs.
@Suite(.withOtherPrograms, .timeLimit(.minutes(2))) struct ProxyTests {
  @Test(arguments: ["caddy", "haproxy", "nginx"])
  func limitsGoByTheRealClient(_ name: String) async throws {
    let script = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../System/Proxies/proxy.py").standardized.path
    let outcome = try await ChildProcess.run(
      "/usr/bin/python3", ["-B", script, try ChildProcess.built("awd"), name])
    #expect(outcome.code == 0, "\(outcome.output)\(outcome.errors)")
  }
}
