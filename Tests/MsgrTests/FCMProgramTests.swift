internal import Foundation
internal import HTTP2StandIn
internal import HTTPClient
internal import HTTPProtocol
internal import TestSupport
internal import Testing

/// The program with a service account, killed while it pushes.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct FCMProgramTests {
  private static let streams = 20
  private static let messages = 1000

  private static let users = 40

  private let folder = TemporaryFolder()
  private let client: WebClient

  init() throws { client = try WebClient() }

  /// Posts to the service; nil if no whole response comes.
  private func post(
    _ port: UInt16, _ path: String, _ fields: [String: String], token: String? = nil
  ) async throws -> (status: Int, body: String)? {
    var request = OutgoingRequest(
      "http://127.0.0.1:\(port)/msgr\(path)",
      json: Array(try JSONSerialization.data(withJSONObject: fields)))
    if let token { request.fields.append(.authorization, "Bearer \(token)") }
    guard let response = try? await client.send(request) else { return nil }
    return (Int(response.status.code), String(decoding: response.body, as: UTF8.self))
  }

  /// Nothing that was acknowledged is lost, and a kill repeats at most what was under way.
  @Test func killsLoseNothingAndRepeatLittle() async throws {
    let standIn = try FCMStandIn(otherwise: .respond(200, body: "{}", after: 30))
    let reserved = try ReservedPort()
    let port = reserved.number
    try Data(try ServiceAccountFile.bytes(tokenURL: standIn.tokenURL))
      .write(to: URL(filePath: "\(folder.path)/fcm.json"))
    let toml = """
      [server]
      listen = ["127.0.0.1:\(port)"]
      services = ["msgr"]
      data = "."
      [msgr]
      push = "on"
      push_streams = \(Self.streams)
      messages_per_minute = 1000000
      registrations_per_minute = 1000
      registrations_per_day = 1000
      inbox_messages = 100000
      password_memory = "8KiB"
      password_passes = 1
      [msgr.fcm]
      credentials = "fcm.json"
      url = "\(standIn.url)"
      roots = "\(try TestCertificates.shared.get().authority.certificate)"
      """
    let configuration = "\(folder.path)/awd.toml"
    try Data(toml.utf8).write(to: URL(filePath: configuration))
    func serve() async throws -> ChildProcess {
      let child = try ChildProcess.awd(["serve", "--config", configuration], home: folder.path)
      _ = try await child.line(with: "listening at=")
      return child
    }
    var server = try await serve()
    let refused = try #require(
      try await post(
        port, "/register",
        [
          "Username": "apple", "Password": "a password",
          "DeviceID": String(repeating: "ab", count: 32),
        ]))
    #expect(refused.status == 400 && refused.body.contains(#""field":"DeviceID""#))
    var token = ""
    for user in 0..<Self.users {
      let answer = try #require(
        try await post(
          port, "/register",
          [
            "Username": "u\(user)", "Password": "a password",
            "DeviceID": "fcm:\(user)_" + String(repeating: "t", count: 60),
          ]))
      #expect(answer.status == 200)
      token = String(answer.body.split(separator: "\"").last { $0.count > 20 } ?? "")
    }
    let sessions = try #require(try await post(port, "/sessions", [:], token: token))
    #expect(sessions.body.contains("\"Kind\":\"fcm\""), "\(sessions)")
    var acknowledged: Set<String> = []
    var kills = 0
    var number = 0
    while acknowledged.count < Self.messages {
      number += 1
      let user = number % Self.users
      let answer = try await post(
        port, "/message",
        [
          "UserFrom": "u\((user + 1) % Self.users)", "Password": "a password", "UserTo": "u\(user)",
          "Message": "m\(number)",
        ])
      if let answer {
        #expect(answer.status == 200)
        acknowledged.insert("m\(number)")
      }
      if number.isMultiple(of: 250) {
        server.signal(SIGKILL)
        _ = try await server.ended()
        kills += 1
        server = try await serve()
      }
    }
    try await waitUntil(within: .seconds(90)) {
      acknowledged.isSubset(of: standIn.received.compactMap { $0.data["Message"] })
    }
    #expect(standIn.faults == [])
    let counts = Dictionary(
      standIn.received.map { ($0.data["Message"] ?? "", 1) }, uniquingKeysWith: +)
    let repeats = counts.values.reduce(0) { $0 + $1 - 1 }
    #expect(kills >= 4 && repeats <= kills * Self.streams, "\(repeats) after \(kills) kills")
    // A repeated one has the same data.
    #expect(Set(standIn.received.map(\.data)).count == counts.count)
    server.signal(SIGTERM)
    _ = try await server.ended()
  }
}
