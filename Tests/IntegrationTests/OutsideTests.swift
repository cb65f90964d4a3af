internal import Foundation
internal import TestSupport
internal import Testing

/// A package that takes `WalletClient` as an app's does, which `make test` builds.
@Suite(.timeLimit(.minutes(2))) struct OutsideTests {
  @Test func aPackageOutsideSpeaksToAllServices() async throws {
    let wallet = try ChildProcess.built("wallet")
    try #require(
      FileManager.default.isExecutableFile(atPath: wallet),
      "build it: swift build --package-path Tests/System/Outside --scratch-path .build")
    let site = try Site()
    try await site.serving { _ in
      let outcome = try await ChildProcess.run(wallet, [site.url])
      #expect(outcome.code == 0, "\(outcome.errors)")
      #expect(outcome.output.contains("msgr [\"hello\"]\n"))
      #expect(outcome.output.contains("apptimist [\"Ann\"]\n"))
      #expect(outcome.output.contains("tokenscript stored"))
    }
  }
}
