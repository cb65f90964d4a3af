internal import Foundation
internal import Testing

/// A headless Chromium, driven through W3C WebDriver.
final class Browser {
  private static let driver = "/usr/bin/chromedriver"
  /// Whether there is one on this machine.
  static let isThere = FileManager.default.isExecutableFile(atPath: driver)

  private let process = Process()
  private let folder: Folder
  private let base: String
  private var session = ""

  init(_ folder: Folder) throws {
    self.folder = folder
    process.executableURL = URL(filePath: Self.driver)
    process.arguments = ["--port=0"]
    process.environment = ["HOME": folder.path, "PATH": "/usr/bin:/bin"]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    try process.run()
    var told = ""
    var port: Substring?
    while port == nil {
      let data = output.fileHandleForReading.availableData
      guard !data.isEmpty else { break }
      told += String(decoding: data, as: UTF8.self)
      port = told.firstMatch(of: /successfully on port ([0-9]+)\./)?.1
    }
    base = "http://127.0.0.1:\(try #require(port, "\(told)"))"
    output.fileHandleForReading.readabilityHandler = { _ = $0.availableData }
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
    process.terminate()
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
    for _ in 0..<600 {
      let now = try evaluate("document.readyState + ' ' + document.URL")
      if now.hasPrefix("complete "), now != "complete \(before)" { return }
      usleep(50_000)
    }
    Issue.record("the link \(text) leads nowhere")
  }

  /// Runs a script, and returns its result as text.
  func evaluate(_ expression: String) throws -> String {
    let value = try call(
      "POST", "/session/\(session)/execute/sync",
      ["script": "return String(\(expression))", "args": []])
    return try #require(value as? String)
  }

  private func call(_ method: String, _ path: String, _ body: [String: Any]? = nil) throws -> Any? {
    let curl = Process()
    curl.executableURL = URL(filePath: "/usr/bin/curl")
    curl.arguments =
      ["-sS", "-m", "60", "-X", method, base + path]
      + (try body.map { body in
        let data = try JSONSerialization.data(withJSONObject: body)
        return [
          "-H", "Content-Type: application/json", "-d", String(decoding: data, as: UTF8.self),
        ]
      } ?? [])
    let output = Pipe()
    curl.standardOutput = output
    try curl.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    curl.waitUntilExit()
    let answer = try JSONSerialization.jsonObject(with: data) as? [String: Any]
    return answer?["value"]
  }
}
