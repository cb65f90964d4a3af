internal import Foundation
internal import Storage
internal import TestSupport
internal import Testing

@testable import Msgr

/// Files that programs publish to inboxes, as curl sends them.
@Suite(.ownThreads) struct InboxUploadTests {
  private static let limit = 256 << 10
  private static let configuration = "[msgr.topics]\nattachment_bytes = \"256KiB\"\n"

  private struct Site {
    let running: Running
    let folder = TemporaryFolder()
    let token: String

    init(_ running: Running) async throws {
      self.running = running
      try await running.fixture.register("anna")
      let made = try await running.fixture.post(
        "/tokens", ["Username": "anna", "Password": "pw", "Name": "ci"])
      token = try #require(made.object["Token"] as? String)
    }

    /// Writes a file that is no text.
    func file(_ name: String, _ count: Int) throws -> String {
      let bytes = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] as [UInt8]
      let rest = (0..<(count - bytes.count)).map { UInt8(truncatingIfNeeded: $0 * 7 % 251) }
      return try write(name, bytes + rest)
    }

    func write(_ name: String, _ bytes: [UInt8]) throws -> String {
      let path = "\(folder.path)/\(name)"
      try Data(bytes).write(to: URL(filePath: path))
      return path
    }

    /// Publishes by curl.
    func publish(
      _ arguments: [String], path: String = "/publish"
    ) throws -> (status: String, json: [String: Any]) {
      let output = try ChildProcess.run(
        "curl",
        ["-sS", "-w", "\n%{http_code}", "-H", "Authorization: Bearer \(token)"] + arguments + [
          "http://127.0.0.1:\(running.port)\(path)"
        ]
      ).output
      let lines = output.split(separator: "\n")
      let body = lines.dropLast().joined(separator: "\n")
      let json = try? JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any]
      return (String(lines.last ?? ""), json ?? [:])
    }

    func fetch(_ url: String) throws -> [UInt8] {
      let path = "\(folder.path)/got"
      _ = try ChildProcess.run("curl", ["-sSf", "-o", path, url])
      return Array(try Data(contentsOf: URL(filePath: path)))
    }

    func last() async throws -> [String: Any] {
      try #require(try await running.fixture.inbox("anna").last)
    }

    /// The number of files in the store.
    func files() async throws -> Int {
      try await running.fixture.store.read { snapshot in
        try snapshot.value("SELECT count(*) FROM msgr_topic_files") ?? 0
      }
    }
  }

  private static let put = ["-X", "PUT", "-H", "Content-Type:"]

  @Test func aLongFileIsKeptInEachForm() async throws {
    try await withRunning(Self.configuration) { running in
      let site = try await Site(running)
      let path = try site.file("camera.png", 200 << 10)
      let sent = Array(try Data(contentsOf: URL(filePath: path)))
      for (arguments, name, text) in [
        (["-T", path, "-H", "Filename: door.png", "-H", "m: Who?"], "door.png", "Who?"),
        (
          Self.put + [
            "-H", "Transfer-Encoding: chunked", "--data-binary", "@\(path)", "-H", "f: a",
          ],
          "a", "You received a file: a"
        ),
        (["--data-binary", "@\(path)"], "attachment.bin", "You received a file: attachment.bin"),
        (["-F", "message=Who?", "-F", "file=@\(path)"], "camera.png", "Who?"),
        (["-F", "file=@\(path)", "-F", "message=Who?"], "camera.png", "Who?"),
        (
          ["-F", "file=@\(path)", "-F", "other=@\(path)"], "camera.png",
          "You received a file: camera.png"
        ),
      ] as [([String], String, String)] {
        let answer = try site.publish(arguments)
        #expect(answer.status == "200" && answer.json["Notes"] == nil, "\(name) \(answer)")
        let message = try await site.last()
        #expect(message["Message"] as? String == text)
        let attachment = try #require(message["Attachment"] as? [String: Any], "\(name)")
        #expect(attachment["Name"] as? String == name)
        #expect(attachment["Type"] as? String == "image/png")
        #expect(attachment["Size"] as? Int == sent.count)
        let url = try #require(attachment["Url"] as? String)
        #expect(try site.fetch(url) == sent)
      }
      #expect(try await site.files() == 6)
    }
  }

  @Test func aFileOverTheLimitTakesNoAlertAlong() async throws {
    try await withRunning(Self.configuration) { running in
      let site = try await Site(running)
      let path = try site.file("big.png", Self.limit + 1)
      let sentence = "big.png was not kept: 262145 bytes are more than 262144"
      for arguments in [
        ["-T", path, "-H", "Filename: big.png", "-H", "Title: Door"],
        ["-F", "file=@\(path)", "-F", "title=Door"],
      ] {
        let answer = try site.publish(arguments)
        #expect(answer.status == "200" && answer.json["Notes"] as? [String] == [sentence])
        let message = try await site.last()
        #expect(message["Title"] as? String == "Door" && message["Attachment"] == nil)
        #expect(message["Message"] as? String == "[\(sentence)]")
      }
      for arguments in [
        ["-T", path, "-H", "Filename: big.png"], ["-F", "file=@\(path)"],
      ] {
        let answer = try site.publish(arguments)
        #expect(answer.status == "413" && answer.json["code"] as? Int == 41301)
        #expect(answer.json["error"] as? String == sentence)
      }
      // More than four times the largest file isn't read.
      let huge = try site.file("huge.png", 4 * Self.limit + 1)
      #expect(try site.publish(["-T", huge, "-H", "f: huge", "-H", "t: Door"]).status == "413")
      #expect(try await site.files() == 0)
    }
  }

  @Test func whatIsNoFileIsAtMostALongText() async throws {
    try await withRunning(Self.configuration) { running in
      let site = try await Site(running)
      let text = try site.write("text", Array(repeating: 0x61, count: (64 << 10) + 1))
      let object = try site.write(
        "object", Array(#"{"message":"\#(String(repeating: "a", count: 64 << 10))"}"#.utf8))
      let json = ["-H", "Content-Type: application/json", "--data-binary", "@\(object)"]
      for arguments in [["-T", text], json, ["-F", "message=<\(text)"]] {
        let answer = try site.publish(arguments)
        #expect(answer.status == "413", "\(arguments)")
        #expect((answer.json["error"] as? String)?.contains("name it by Filename") == true)
      }
      #expect(try await running.fixture.inbox("anna").isEmpty)
      // With a name it is a file, and a short text needs no charset unless it isn't UTF-8.
      #expect(try site.publish(["-T", text, "-H", "Filename: log.txt"]).status == "200")
      #expect(try await site.last()["Attachment"] != nil)
      let latin1 = try site.write("latin1", [0x63, 0x61, 0x66, 0xe9])
      #expect(try site.publish(["-T", latin1]).status == "400")
      let short = try site.file("short.png", 1000)
      #expect(try site.publish(["-T", short]).status == "200")
      #expect(try await site.last()["Attachment"] != nil)
    }
  }

  @Test func aFileWhoseMessageIsNotPublishedIsNotKept() async throws {
    try await withRunning("publish_burst = 2\n" + Self.configuration) { running in
      let site = try await Site(running)
      let path = try site.file("a.png", 100 << 10)
      let named = ["-T", path, "-H", "Filename: a.png", "-H", "ClientId: job-1"]
      #expect(try site.publish(named, path: "/publish/dora").status == "403")
      let first = try site.publish(named)
      let second = try site.publish(named)
      #expect(first.status == "200" && first.json["Id"] as? String == second.json["Id"] as? String)
      #expect(try await running.fixture.inbox("anna").count == 1)
      #expect(try await site.files() == 1)
      #expect(try site.publish(["-F", "file=@\(path)"]).status == "429")
      #expect(
        try site.publish(
          ["-H", "Content-Type: multipart/form-data; boundary=x", "--data-binary", "@\(path)"]
        ).status == "400")
      #expect(try await site.files() == 1)
    }
  }

  @Test func withoutTopicsThereAreNoFiles() async throws {
    try await withRunning("[msgr.topics]\naccess = \"off\"\n") { running in
      let site = try await Site(running)
      let path = try site.file("a.png", 100 << 10)
      let answer = try site.publish(["-T", path, "-H", "Filename: a.png", "-H", "m: Who?"])
      #expect(answer.status == "200")
      let text = "Who?\n[a.png was not kept: this server keeps no files]"
      #expect(try await site.last()["Message"] as? String == text)
      #expect(try site.publish(["-F", "file=@\(path)"]).status == "400")
    }
  }
}
