internal import Foundation
internal import Platform
internal import Testing

/// A page of a headless Chromium in a profile of its own, driven through the Chrome DevTools Protocol.
///
/// All pages of a process share one browser, as its start takes longer than most tests. Nothing of a profile is seen by
/// another, and it goes with the object.
package final class Browser {
  /// Whether there is one on this machine, and tests may start it.
  package static let isThere = OtherPrograms.mayRun && BrowserProgram.isThere

  private let program: BrowserProgram
  private let profile: String
  /// Whose profile it is, if it is another's.
  private let owner: Browser?
  private var target: String
  private var page: DevTools

  /// Opens an empty page in a new profile.
  package init() throws {
    program = try BrowserProgram.shared.get()
    profile = try program.makeProfile()
    owner = nil
    (target, page) = try program.openPage(in: profile)
  }

  /// Opens an empty page beside another one, in its profile.
  package init(beside other: Browser) throws {
    (program, profile, owner) = (other.program, other.profile, other)
    (target, page) = try program.openPage(in: profile)
  }

  deinit { if owner == nil { program.removeProfile(profile) } }

  /// Goes to a page, and waits until it is loaded.
  package func open(_ url: String) throws {
    let before = page.finishedLoads
    let result = try page.call("Page.navigate", ["url": url])
    if let error = result["errorText"] as? String {
      throw DevTools.Failure(description: "\(url): \(error)")
    }
    // Another part of the same document isn't loaded.
    guard result["loaderId"] != nil else { return }
    try page.wait { page.finishedLoads != before }
  }

  /// Clicks the link with this text, and waits for the page it leads to.
  package func click(_ text: String) throws {
    let place = try #require(
      try run(
        """
        const link = [...document.querySelectorAll('a')].find((link) => link.textContent.trim() === \(text.inJavaScript));
        link?.scrollIntoView({ block: 'center', behavior: 'instant' });
        const box = link?.getClientRects()[0];
        return box && [box.x + box.width / 2, box.y + box.height / 2];
        """) as? [Double], "no link \(text)")
    let before = page.finishedLoads
    for type in ["mousePressed", "mouseReleased"] {
      let event: [String: Any] = [
        "type": type, "x": place[0], "y": place[1], "button": "left", "clickCount": 1,
      ]
      try command("Input.dispatchMouseEvent", event)
    }
    try page.wait { page.finishedLoads != before }
  }

  /// Evaluates an expression, and returns its value, or that of the promise that it is, as text.
  package func evaluate(_ expression: String) throws -> String {
    var value: Any?
    // A page that gives way to the next one loses what was evaluated, and one that is being loaded has no elements yet.
    try blockUntil {
      value = try run(
        """
        return document.readyState === 'loading' ? undefined : Promise.resolve(\(expression)).then(String)
        """)
      return value != nil
    }
    return try #require(value as? String)
  }

  /// Waits until a condition is true in the page. A failure tells the page's address, the state that its root element names,
  /// and what went wrong in it lately.
  package func wait(_ condition: String, file: String = #fileID, line: Int = #line) throws {
    do {
      try blockUntil(file: file, line: line) { try evaluate(condition) == "true" }
    } catch {
      let state = try? evaluate(
        "`${location.href}, ${document.readyState}, ${JSON.stringify({...document.documentElement.dataset})}`"
      )
      let faults = page.faults.isEmpty ? "" : "; faults: \(page.faults.joined(separator: "; "))"
      Issue.record("\(file):\(line): the page is at \(state ?? "an unknown place")\(faults)")
      throw error
    }
  }

  /// Runs a script, and returns the value that it returns, or that of the promise; nil also if the page gave way to another.
  @discardableResult
  package func run(_ script: String) throws -> Any? {
    let outcome: [String: Any]
    do {
      outcome = try page.call(
        "Runtime.evaluate",
        [
          "expression": "(() => {\(script)\n})()", "awaitPromise": true, "returnByValue": true,
        ])
    } catch let failure as DevTools.Failure where Self.isNavigation(failure) {
      return nil
    }
    if let details = outcome["exceptionDetails"] as? [String: Any] {
      let exception = details["exception"] as? [String: Any]
      throw DevTools.Failure(
        description: "\(exception?["description"] ?? details["text"] ?? "") in \(script)")
    }
    return (outcome["result"] as? [String: Any])?["value"]
  }

  /// Whether a script was lost with its page.
  private static func isNavigation(_ failure: DevTools.Failure) -> Bool {
    ["context was destroyed", "navigated or closed", "Cannot find", "was collected"]
      .contains { failure.description.contains($0) }
  }

  /// Returns the document as it is now, after its scripts have run.
  package func document() throws -> String { try evaluate("document.documentElement.outerHTML") }

  /// Returns what axe finds that keeps people from using the page, in light and dark, on a phone and on a desktop.
  package func barriers() throws -> [String] {
    if try evaluate("typeof axe") == "undefined" { try run(try #require(TestTools.axe)) }
    var barriers: [String] = []
    // The schemes differ in nothing but colours.
    for (scheme, rules) in [("light", ""), ("dark", "'color-contrast', 'link-in-text-block'")] {
      try command(
        "Emulation.setEmulatedMedia",
        ["features": [["name": "prefers-color-scheme", "value": scheme]]])
      for width in [320, 1200] {
        try resize(width: width, height: 720)
        let found = try evaluate(
          """
          Promise.all(document.getAnimations().map(({ effect, finished }) => effect.getComputedTiming().iterations === Infinity || finished))
            .then(() => axe.run(document, [\(rules)].length ? { runOnly: [\(rules)] } : {})).then(({ violations, passes, incomplete }) =>
            passes.length + incomplete.length === 0 ? 'nothing checked' :
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

  /// Closes the page, and shows an empty one of the same profile.
  package func closePage() throws {
    let closed = target
    (target, page) = try program.openPage(in: profile)
    try program.closePage(closed)
  }

  /// Gives a command of the Chrome DevTools Protocol.
  package func command(_ name: String, _ parameters: [String: Any] = [:]) throws {
    // What is the browser's would hold for another profile.
    let own = name.hasPrefix("Browser.") ? ["browserContextId": profile] : [:]
    try page.call(name, parameters.merging(own) { given, _ in given })
  }
}

/// The one Chromium of this process, which ends with it, however that ends.
private final class BrowserProgram: Sendable {
  private static let path = "/usr/bin/chromium"
  static let isThere = FileManager.default.isExecutableFile(atPath: path)

  static let shared: Result<BrowserProgram, any Error> = Result {
    let program = try BrowserProgram()
    // Before the folder goes that it writes to.
    atexit { try? BrowserProgram.shared.get().end() }
    return program
  }

  private let folder = TemporaryFolder()
  private let process: ChildProcess
  private let port: UInt16
  private let browser: Lock<DevTools>

  private init() throws {
    // The shell's input ends when this process does, even by SIGKILL.
    let script = """
      exec 3<&0
      "$@" </dev/null & browser=$!
      (read -r _ <&3; kill -KILL $browser) & watch=$!
      wait $browser; kill $watch
      """
    let options = [
      "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-port=0",
      "--user-data-dir=\(folder.path)/profile",
      // A container's /dev/shm may be too small.
      "--disable-dev-shm-usage",
      // It asks nobody for anything, and no page waits because another is on top.
      "--disable-background-networking", "--disable-component-update", "--disable-sync",
      "--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows",
      "--disable-renderer-backgrounding", "--disable-extensions", "--password-store=basic",
    ]
    process = try ChildProcess(
      "sh", ["-c", script, "sh", Self.path] + options, home: folder.path, input: nil)
    let line = try process.line(with: "DevTools listening on ")
    let place = try #require(line.firstMatch(of: /ws:\/\/127\.0\.0\.1:([0-9]+)\/devtools\/(\S+)/))
    port = try #require(UInt16(place.1))
    browser = Lock(try DevTools(port: port, target: String(place.2)))
  }

  func end() {
    process.closeInput()
    _ = try? process.ended(within: .seconds(10)) as ChildProcess.Ending
  }

  func makeProfile() throws -> String {
    try identifier(
      "browserContextId", of: "Target.createBrowserContext", ["disposeOnDetach": false])
  }

  func removeProfile(_ profile: String) {
    _ = try? browser.withLock { browser in
      _ = try browser.call("Target.disposeBrowserContext", ["browserContextId": profile])
    }
  }

  func openPage(in profile: String) throws -> (target: String, DevTools) {
    let target = try identifier(
      "targetId", of: "Target.createTarget",
      ["url": "about:blank", "browserContextId": profile, "newWindow": true])
    let page = try DevTools(port: port, target: "page/\(target)")
    try page.call("Page.enable")
    try page.call("Page.setLifecycleEventsEnabled", ["enabled": true])
    try page.call("Runtime.enable")
    try page.call("Log.enable")
    // Each page is as the one in front, which has the focus.
    try page.call("Emulation.setFocusEmulationEnabled", ["enabled": true])
    return (target, page)
  }

  func closePage(_ target: String) throws {
    try browser.withLock { browser in
      _ = try browser.call("Target.closeTarget", ["targetId": target])
    }
  }

  private func identifier(
    _ name: String, of method: String, _ parameters: [String: any Sendable]
  ) throws -> String {
    try browser.withLock { browser in
      try #require(try browser.call(method, parameters)[name] as? String)
    }
  }
}
