internal import Foundation
internal import TestSupport
internal import Testing

/// A headless Chromium, driven through W3C WebDriver.
final class Browser {
  private static let driver = "/usr/bin/chromedriver"
  /// Whether there is one on this machine.
  static let isThere = FileManager.default.isExecutableFile(atPath: driver)

  private let process: ChildProcess
  private let folder: TemporaryFolder
  private let base: String
  private var session = ""

  init(_ folder: TemporaryFolder) throws {
    self.folder = folder
    process = try ChildProcess(Self.driver, ["--port=0"], home: folder.path)
    let line = try process.line(with: "successfully on port", on: .output)
    let port = try #require(line.firstMatch(of: /on port ([0-9]+)\./)?.1)
    base = "http://127.0.0.1:\(port)"
    let options: [String: Any] = [
      "args": [
        "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
        // A container's /dev/shm may be too small.
        "--disable-dev-shm-usage",
      ]
    ]
    let answer = try call(
      "POST", "/session",
      ["capabilities": ["alwaysMatch": ["goog:chromeOptions": options]]])
    session = try #require((answer as? [String: Any])?["sessionId"] as? String)
  }

  deinit {
    _ = try? call("DELETE", "/session/\(session)")
    // Not waited for: what it started holds the descriptor that its end would be seen by.
    process.signal(SIGTERM)
  }

  /// Goes to a page.
  func open(_ url: String) throws {
    _ = try call("POST", "/session/\(session)/url", ["url": url])
  }

  /// Clicks the link with this text, and waits for the page it leads to.
  func click(_ text: String) throws {
    let found = try call(
      "POST", "/session/\(session)/element", ["using": "link text", "value": text])
    let element = try #require((found as? [String: String])?.values.first, "no link \(text)")
    let before = try evaluate("document.URL")
    _ = try call("POST", "/session/\(session)/element/\(element)/click", [:])
    // The click may return before the navigation has begun.
    try blockUntil {
      let now = try evaluate("document.readyState + ' ' + document.URL")
      return now.hasPrefix("complete ") && now != "complete \(before)"
    }
  }

  /// Runs a script, and returns its result as text.
  func evaluate(_ expression: String) throws -> String {
    let value = try call(
      "POST", "/session/\(session)/execute/sync",
      ["script": "return String(\(expression))", "args": []])
    return try #require(value as? String)
  }

  private func call(_ method: String, _ path: String, _ body: [String: Any]? = nil) throws -> Any? {
    let body = try body.map { body in
      let data = try JSONSerialization.data(withJSONObject: body)
      return ["-H", "Content-Type: application/json", "-d", String(decoding: data, as: UTF8.self)]
    }
    let data = try ChildProcess.run(
      "curl", ["-sS", "-m", "60", "-X", method, base + path] + (body ?? [])
    ).output
    let answer = try JSONSerialization.jsonObject(with: Data(data.utf8)) as? [String: Any]
    return answer?["value"]
  }
}
