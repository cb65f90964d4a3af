internal import Foundation
internal import TestSupport
internal import Testing

/// The device in JavaScript, in a browser.
@Suite(
  .ownThreads, .enabled(if: Browser.isThere && hasTweetNaCl, "needs chromium and node-tweetnacl"))
struct BrowserDeviceTests {
  private static let tests = URL(filePath: #filePath).deletingLastPathComponent()
  private static let device = tests.appending(path: "../../Clients/JavaScript/apptimist.js")
    .standardized

  /// Opens a page that runs a script of the tests, and returns what that says.
  ///
  /// - Parameters:
  ///   - name: the script's name.
  ///   - call: an expression that the script defines, or a promise of one.
  private static func result(
    of name: String, _ call: String, in folder: TemporaryFolder
  ) throws -> Result {
    let scripts = [tweetNaCl, device.path, tests.appending(path: "JavaScript/\(name)").path]
      .map { "<script src=\"file://\($0)\"></script>\n" }.joined()
    let page = try folder.write(
      "page.html",
      Array(
        """
        <!doctype html>
        <meta charset="utf-8">
        \(scripts)<script>
        (async () => JSON.stringify(await \(call)))()
          .catch((error) => String(error.stack)).then((text) => { window.result = text; });
        </script>

        """.utf8))
    let browser = try Browser(folder)
    try browser.open("file://\(page)")
    try blockUntil { try browser.evaluate("window.result") != "undefined" }
    let text = try browser.evaluate("window.result")
    return try #require(
      try? JSONDecoder().decode(Result.self, from: Data(text.utf8)), "\(text)")
  }

  private struct Result: Decodable {
    /// The number of comparisons.
    let count: Int
    /// The names of those that failed.
    let different: [String]
  }

  @Test func opensMessagesAndRefusesForgeries() throws {
    let result = try Self.result(
      of: "opening.js", "openMessages(nacl, apptimist)", in: TemporaryFolder())
    #expect(result.different == [])
    #expect(result.count > 30)
  }
}

/// The library that the device stands on, as Debian has it.
private let tweetNaCl = "/usr/share/nodejs/tweetnacl/nacl-fast.js"
private let hasTweetNaCl = FileManager.default.fileExists(atPath: tweetNaCl)
