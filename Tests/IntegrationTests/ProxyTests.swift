internal import Foundation
internal import TestSupport
internal import Testing

/// Debian's proxies in front of the server. `make test` installs them; one that is missing is left out.
@Suite(.timeLimit(.minutes(2))) struct ProxyTests {
  private static let programs = [
    "caddy": "/usr/bin/caddy", "haproxy": "/usr/sbin/haproxy", "nginx": "/usr/sbin/nginx",
  ]

  private static var installed: [String] {
    programs.filter { FileManager.default.isExecutableFile(atPath: $0.value) }.keys.sorted()
  }

  @Test(arguments: installed) func limitsGoByTheRealClient(_ name: String) async throws {
    let script = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../Proxies/proxy.py").standardized.path
    let outcome = try await ChildProcess.run(
      "/usr/bin/python3", ["-B", script, try ChildProcess.built("awd"), name])
    #expect(outcome.code == 0, "\(outcome.output)\(outcome.errors)")
  }
}
