internal import Foundation

/// A connection to a target of the Chrome DevTools Protocol, which waits for the response to each command.
///
/// One thread at a time may use it.
final class DevTools {
  /// The error of a command that was refused, or a script that failed.
  struct Failure: Error, CustomStringConvertible {
    /// The command, and the browser's words.
    let description: String
  }

  private let socket: TestSocket
  private var lastNumber = 0
  /// The loads of the page that came to their end, by the numbers that Chromium gives them.
  private(set) var finishedLoads: Set<String> = []
  /// The last errors of scripts that nothing caught, and of what couldn't be loaded.
  private(set) var faults: [String] = []

  /// Connects to a target.
  ///
  /// - Parameters:
  ///   - port: where the browser listens.
  ///   - target: `browser`, or `page`, and its identifier.
  init(port: UInt16, target: String) throws {
    socket = try TestSocket(port: port, target: "/devtools/\(target)")
  }

  /// Gives a command, and returns its result.
  @discardableResult
  func call(_ method: String, _ parameters: [String: Any] = [:]) throws -> [String: Any] {
    let number = try send(method, parameters)
    while true {
      let message = try receive()
      guard message["id"] as? Int == number else { continue }
      if let error = message["error"] as? [String: Any] {
        throw Failure(description: "\(method): \(error["message"] ?? "")")
      }
      return message["result"] as? [String: Any] ?? [:]
    }
  }

  /// Reads what the browser says until a condition holds.
  func wait(until condition: () -> Bool) throws {
    while !condition() { _ = try receive() }
  }

  private func send(_ method: String, _ parameters: [String: Any]) throws -> Int {
    lastNumber += 1
    let command: [String: Any] = ["id": lastNumber, "method": method, "params": parameters]
    try socket.send(
      String(decoding: try JSONSerialization.data(withJSONObject: command), as: UTF8.self))
    return lastNumber
  }

  private func receive() throws -> [String: Any] {
    guard case .text(let text) = try socket.nextEvent() else {
      throw Failure(description: "the browser has closed the connection")
    }
    let message = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] ?? [:]
    let parameters = message["params"] as? [String: Any] ?? [:]
    switch message["method"] as? String {
    case "Page.lifecycleEvent" where parameters["name"] as? String == "load":
      if let load = parameters["loaderId"] as? String { finishedLoads.insert(load) }
    case "Runtime.exceptionThrown":
      let details = parameters["exceptionDetails"] as? [String: Any]
      let exception = details?["exception"] as? [String: Any]
      record(exception?["description"] ?? details?["text"])
    case "Log.entryAdded":
      let entry = parameters["entry"] as? [String: Any]
      if entry?["level"] as? String == "error" {
        record("\(entry?["text"] ?? "") \(entry?["url"] ?? "")")
      }
    case "Page.javascriptDialogOpening":
      // It would hold up every script.
      _ = try send("Page.handleJavaScriptDialog", ["accept": false])
    default: break
    }
    return message
  }

  private func record(_ fault: Any?) {
    faults = faults.suffix(9) + ["\(fault ?? "an unknown one")"]
  }
}
