internal import Foundation
internal import Testing

/// A headless Chromium, driven through W3C WebDriver.
package final class Browser {
  private static let driver = "/usr/bin/chromedriver"
  /// Whether there is one on this machine, and tests may start it.
  package static let isThere =
    OtherPrograms.mayRun && FileManager.default.isExecutableFile(atPath: driver)

  private let process: ChildProcess
  private let folder: TemporaryFolder
  private let base: String
  private var session = ""

  /// Starts it.
  ///
  /// - Parameter folder: its home.
  package init(_ folder: TemporaryFolder) throws {
    self.folder = folder
    let port: Substring
    (process, port) = try Self.startDriver(in: folder.path)
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

  /// Starts the driver. It ends at once where the port that it has found free for IPv4 is taken for IPv6; then it is started
  /// again.
  private static func startDriver(in home: String) throws -> (ChildProcess, port: Substring) {
    var tries = 0
    while true {
      tries += 1
      do {
        let process = try ChildProcess(driver, ["--port=0"], home: home)
        let line = try process.line(with: "successfully on port", on: .output)
        return (process, try #require(line.firstMatch(of: /on port ([0-9]+)\./)?.1))
      } catch {
        if tries == 3 { throw error }
      }
    }
  }

  deinit {
    _ = try? call("DELETE", "/session/\(session)")
    // Not waited for: what it started holds the descriptor that its end would be seen by.
    process.signal(SIGTERM)
  }

  /// Goes to a page.
  package func open(_ url: String) throws {
    _ = try call("POST", "/session/\(session)/url", ["url": url])
  }

  /// Clicks the link with this text, and waits for the page it leads to.
  package func click(_ text: String) throws {
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

  /// Evaluates an expression, and returns its value, or that of the promise that it is, as text.
  package func evaluate(_ expression: String) throws -> String {
    try #require(try run("return Promise.resolve(\(expression)).then(String)") as? String)
  }

  /// Runs a script, and returns the value that it returns.
  @discardableResult
  package func run(_ script: String) throws -> Any? {
    try call("POST", "/session/\(session)/execute/sync", ["script": script, "args": []])
  }

  /// Returns the document as it is now, after its scripts have run.
  package func document() throws -> String { try evaluate("document.documentElement.outerHTML") }

  /// Returns what axe finds that keeps people from using the page, in light and dark, on a phone and on a desktop.
  package func barriers() throws -> [String] {
    var barriers: [String] = []
    for scheme in ["light", "dark"] {
      try command(
        "Emulation.setEmulatedMedia",
        ["features": [["name": "prefers-color-scheme", "value": scheme]]])
      for width in [320, 1200] {
        try resize(width: width, height: 720)
        try run(try #require(TestTools.axe))
        let found = try evaluate(
          """
          axe.run(document).then(({ violations, passes }) => passes.length === 0 ? 'nothing checked' :
            violations.map(({ id, nodes }) => `${id} ${nodes.map(({ html }) => html)}`).join())
          """)
        if !found.isEmpty { barriers.append("\(scheme), \(width) px: \(found)") }
      }
    }
    return barriers
  }

  /// Gives the window a size.
  package func resize(width: Int, height: Int) throws {
    try command(
      "Emulation.setDeviceMetricsOverride",
      ["width": width, "height": height, "deviceScaleFactor": 1, "mobile": false])
  }

  /// Closes the page, and shows an empty one.
  package func closePage() throws {
    let made = try call("POST", "/session/\(session)/window/new", ["type": "tab"])
    let handle = try #require((made as? [String: String])?["handle"])
    _ = try call("DELETE", "/session/\(session)/window")
    _ = try call("POST", "/session/\(session)/window", ["handle": handle])
  }

  /// Gives a command of the Chrome DevTools Protocol.
  package func command(_ name: String, _ parameters: [String: Any] = [:]) throws {
    _ = try call(
      "POST", "/session/\(session)/goog/cdp/execute", ["cmd": name, "params": parameters])
  }

  private func call(_ method: String, _ path: String, _ body: [String: Any]? = nil) throws -> Any? {
    let input = try body.map { body in
      String(decoding: try JSONSerialization.data(withJSONObject: body), as: UTF8.self)
    }
    // By standard input, as an argument may be too short for it.
    let posted = ["-H", "Content-Type: application/json", "--data-binary", "@-"]
    let data = try ChildProcess.run(
      "curl", ["-sS", "-m", "60", "-X", method, base + path] + (input == nil ? [] : posted),
      input: input ?? ""
    ).output
    let answer = try JSONSerialization.jsonObject(with: Data(data.utf8)) as? [String: Any]
    let value = answer?["value"]
    let error = (value as? [String: Any])?["error"] as? String
    try #require(error == nil, "\(path): \(value ?? "")")
    return value
  }
}
