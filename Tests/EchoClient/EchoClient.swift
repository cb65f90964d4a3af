internal import HTTPClient
internal import HTTPProtocol

/// The client that Autobahn's suite for clients drives: it opens a WebSocket for each case and sends every message back.
///
///     echo-client ws://127.0.0.1:9001
@main struct EchoClient {
  let suite: String
  let client: WebSocketClient

  static func main() async throws {
    guard CommandLine.arguments.count == 2 else {
      fatalError("say the address of the suite, such as ws://127.0.0.1:9001")
    }
    let client = try WebSocketClient()
    try await EchoClient(suite: CommandLine.arguments[1], client: client).run()
  }

  private func run() async throws {
    guard let answer = try await connect(to: "getCaseCount").next(),
      let count = Int(String(decoding: answer.bytes, as: UTF8.self)), count > 0
    else { fatalError("the suite doesn't say how many cases it has") }
    for number in 1...count {
      // That the suite breaks the protocol ends a case, and is what many of them try.
      do {
        let socket = try await connect(to: "runCase?case=\(number)&agent=awd")
        while let message = try await socket.next() { try await socket.send(message) }
      } catch {}
    }
    _ = try await connect(to: "updateReports?agent=awd").ended()
  }

  private func connect(to path: String) async throws -> WebSocket {
    guard let url = WebSocketURL("\(suite)/\(path)") else {
      fatalError("\(suite) is no address of a WebSocket")
    }
    return try await client.connect(to: url)
  }
}
