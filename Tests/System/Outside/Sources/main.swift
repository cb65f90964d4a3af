import ApptimistProtocol
import Foundation
import HTTPClient
import WalletClient

/// A wallet outside of the package, which asks all three services of the server at the URL for something.
let url = CommandLine.arguments[1]

let server = try MsgrServer(url)
let bert = try await server.register("bert", password: "a password", device: "stream:berts-phone")
let anna = try await server.register("anna", password: "a password", device: "stream:annas-phone")
try await anna.send("hello", to: "bert")
let inbox = try await bert.inbox()
print("msgr", inbox.map(\.text))

guard let siren = WebSocketURL("ws" + url.dropFirst("http".count) + "/siren") else {
  fatalError("\(url) is no URL of http")
}
let keys = DeviceKeys.generate()
let device = try Device(
  keys: keys, service: try await ServicePin.fetch(from: siren, client: WebClient()),
  url: siren,
  account: NewAccount(name: "Ann", uid: "", token: ""))
let running = Task { try await device.run() }
print("apptimist", try await device.search(name: "Ann").map(\.name))
running.cancel()

let cache = FileManager.default.temporaryDirectory.appending(path: "outside-\(getpid())").path
defer { try? FileManager.default.removeItem(atPath: cache) }
let agent = try TokenScriptAgent(repository: url, cache: cache)
let report = try await agent.fetch(
  TokenScriptRequest(
    address: "0x6b175474e89094c44da98b954eedeac495271d0f", network: .main,
    namespaces: [TokenScriptNamespace("2020/03")].compactMap(\.self)))
if case .stored(let script, _, _) = report.outcome {
  print("tokenscript stored", script.signer ?? "")
}
