internal import Foundation
internal import TestSupport
internal import Testing

/// Other projects' programs that publish into a running server.
@Suite(.ownThreads, .enabled(if: TestTools.program("apprise") != nil))
struct PublishingProgramTests {
  private func post(
    _ url: String, _ fields: [String: String], token: String? = nil
  ) throws -> Any? {
    let body = String(decoding: try JSONEncoder().encode(fields), as: UTF8.self)
    let field = token.map { ["-H", "Authorization: Bearer \($0)"] } ?? []
    let output = try ChildProcess.run("curl", ["-sS", "-d", body, url] + field).output
    return try JSONSerialization.jsonObject(with: Data(output.utf8))
  }

  @Test func needNoAdapter() throws {
    let folder = TemporaryFolder([
      "awd.toml": "[server]\nlisten = [\"127.0.0.1:0\"]\nservices = [\"msgr\"]\n"
    ])
    let process = try ChildProcess.awd(
      ["serve", "--config", "\(folder.path)/awd.toml"], home: folder.path)
    let line = try process.line(with: "listening at=")
    let address = String(try #require(line.firstMatch(of: /listening at=(\S+)/)?.1)) + "/msgr"
    let registered = try post(
      "\(address)/register",
      ["Username": "anna", "Password": "a password", "DeviceID": "stream:anna-0001"])
    let session = try #require((registered as? [String: String])?["Token"])
    let made = try post("\(address)/tokens", ["Name": "ops"], token: session)
    let token = try #require((made as? [String: String])?["Token"])

    let place = address.dropFirst("http://".count)
    let apprise = try #require(TestTools.program("apprise"))
    for url in [
      "json://\(place)/publish?+Authorization=Bearer%20\(token)",
      "form://\(place)/publish?+Authorization=Bearer%20\(token)",
      "gotify://\(place)/\(token)",
    ] {
      let outcome = try ChildProcess.run(
        apprise, ["-t", "a title", "-b", "the body & more", url])
      #expect(outcome.code == 0, "\(url) \(outcome.errors)")
    }
    for arguments in [
      ["-d", "the body & more", "-u", ":\(token)", "\(address)/publish"],
      [
        "-F", "message=the body & more", "-F", "title=a title", "\(address)/publish?token=\(token)",
      ],
    ] {
      #expect(try ChildProcess.run("curl", ["-sSf"] + arguments).code == 0)
    }
    let inbox = try post("\(address)/inbox", [:], token: session) as? [[String: Any]]
    let messages = try #require(inbox)
    #expect(
      messages.map { $0["Message"] as? String } == Array(repeating: "the body & more", count: 5))
    #expect(
      messages.map { $0["Title"] as? String } == ["a title", "a title", "a title", nil, "a title"])
    #expect(messages.allSatisfy { $0["UserFrom"] as? String == "anna/ops" })
  }
}
