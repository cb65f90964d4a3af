internal import Cryptography
internal import Foundation
internal import HTTPClient
internal import HTTPProtocol
internal import TestSupport
internal import Testing

/// The device in JavaScript, in a browser.
@Suite(
  .ownThreads, .enabled(if: Browser.isThere && hasTweetNaCl, "needs chromium and node-tweetnacl"))
struct JavaScriptDeviceTests {
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
    let browser = try Browser()
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

  @Test func makesAndRefusesTheVectors() throws {
    let vectors = try String(
      contentsOf: Self.tests.appending(
        path: "../ApptimistProtocolTests/Vectors/version2.json"), encoding: .utf8)
    let result = try Self.result(
      of: "vectors.js", "compare(\(vectors), nacl, apptimist)", in: TemporaryFolder())
    #expect(result.different == [])
    #expect(result.count > 150)
  }

  @Test func opensMessagesAndRefusesForgeries() throws {
    let result = try Self.result(
      of: "opening.js", "openMessages(nacl, apptimist)", in: TemporaryFolder())
    #expect(result.different == [])
    #expect(result.count > 30)
  }

  @Test func talksThroughTheService() async throws {
    let folder = TemporaryFolder([
      "awd.toml": """
      [server]
      listen = ["127.0.0.1:0"]
      services = ["apptimist"]
      data = "data"
      [apptimist]
      refusal_min = "0s"
      refusal_max = "0s"
      """
    ])
    let server = try ChildProcess.awd(
      ["serve", "--config", "\(folder.path)/awd.toml"], home: folder.path)
    let line = try await server.line(with: "listening at=http://127.0.0.1:")
    let port = (line.split(separator: "listening at=http://127.0.0.1:").last ?? "")
      .prefix { $0.isNumber }
    let response = try await WebClient().send(
      OutgoingRequest(.get, "http://127.0.0.1:\(port)/siren/service.json"))
    let document = String(decoding: response.body, as: UTF8.self)
    struct Keys: Decodable { let encryptionKey: String }
    let keys = try JSONDecoder().decode(Keys.self, from: Data(response.body))
    let service = try #require(EncryptionPublicKey(hex: keys.encryptionKey))
    // TweetNaCl has no sealed boxes.
    let (secret, escrow) = try EncryptionKeyPair.generate(for: .session).withSecret { secret in
      (Hex.encode(secret), Hex.encode(try #require(SealedBox.seal(Array(secret), to: service))))
    }
    let setup = """
      {url: "ws://127.0.0.1:\(port)/siren", document: \(document),
      forumSecret: "\(secret)", escrow: "\(escrow)"}
      """
    let result = try await onThread {
      try Self.result(of: "session.js", "talk(\(setup), nacl, apptimist)", in: folder)
    }
    #expect(result.different == [])
    #expect(result.count > 25)
  }
}

/// The device in JavaScript, in Node.
@Suite(.ownThreads, .enabled(if: hasNode && hasTweetNaCl, "needs node and node-tweetnacl"))
struct JavaScriptDeviceInNodeTests {
  /// Half-open connections are noticed by pings, as WebSockets of browsers send none.
  @Test func noticesASilentNetwork() async throws {
    struct Result: Decodable, Equatable {
      let isLeftAlone: Bool
      let isKnown: Bool
      let said: [String]
      let back: [String]
    }
    let tests = URL(filePath: #filePath).deletingLastPathComponent()
    try await withServer { server in
      let outcome = try await ChildProcess.run(
        "node",
        [
          tests.appending(path: "JavaScript/silence.js").path,
          tests.appending(path: "../../Clients/JavaScript/apptimist.js").standardized.path,
          "\(server.port)",
        ], environment: ["NODE_PATH": "/usr/share/nodejs"], within: .seconds(120))
      let result = try #require(
        try? JSONDecoder().decode(Result.self, from: Data(outcome.output.utf8)), "\(outcome)")
      let expected = Result(
        isLeftAlone: true, isKnown: false, said: ["said into the silence"], back: ["and back"])
      #expect(result == expected)
    }
  }
}

private let hasNode = (try? ChildProcess.run("node", ["--version"]).code) == 0

/// The library that the device stands on, as Debian has it.
private let tweetNaCl = "/usr/share/nodejs/tweetnacl/nacl-fast.js"
private let hasTweetNaCl = FileManager.default.fileExists(atPath: tweetNaCl)
