internal import Foundation
internal import TestSupport
internal import Testing

/// A browser without a window.
enum Chromium {
  /// Whether ``CommandsFixture`` finds it.
  static let isThere = ["/usr/bin", "/bin"].contains {
    FileManager.default.isExecutableFile(atPath: "\($0)/chromium")
  }

  /// Returns a document after its scripts have run, if they may.
  ///
  /// - Parameters:
  ///   - url: the document's URL.
  ///   - fixture: gives the browser a home.
  ///   - flags: further flags of the browser.
  static func dump(
    _ url: String, in fixture: CommandsFixture, _ flags: [String] = []
  ) throws -> String {
    let result = try fixture.spawn(
      "chromium",
      [
        "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
        // The /dev/shm of a container may be too small.
        "--disable-dev-shm-usage",
        "--disable-background-networking", "--user-data-dir=\(fixture.folder)/chromium",
      ] + flags + ["--dump-dom", url])
    #expect(result.code == 0, "\(result.errors)")
    return result.output
  }
}
