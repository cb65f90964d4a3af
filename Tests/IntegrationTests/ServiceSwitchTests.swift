internal import ApptimistProtocol
internal import Foundation
internal import HTTPProtocol
internal import TestSupport
internal import Testing
internal import WalletClient

/// Services are switched off one by one: the others go on, and the data stays.
@Suite(.timeLimit(.minutes(2))) struct ServiceSwitchTests {
  /// The requests of a service, and the prefixes of its tables' names.
  private struct Surface {
    let requests: [(method: HTTPProtocol.Method, path: String)]
    let tables: [String]
  }

  private static let surfaces = [
    "tokenscript": Surface(
      requests: [
        (.get, "/"), (.get, "/\(Site.contract)"), (.get, "/\(Site.namespace)/\(Site.contract)"),
        (.post, "/api/v1/verifyXMLDSig"),
      ], tables: ["tokenscript_"]),
    "msgr": Surface(
      requests: [
        (.post, "/register"), (.post, "/message"), (.post, "/inbox"), (.get, "/stream"),
        (.get, "/openapi.json"), (.get, "/debug/pushes"),
      ], tables: ["msgr_", "push_outbox"]),
    "apptimist": Surface(
      requests: [(.get, "/siren"), (.get, "/siren/service.json")], tables: ["apptimist_"]),
  ]

  /// What a server answers to requests of a service that is off. Msgr's topics are at any name, so that its routes may find
  /// a method wrong there, or lead a browser to the topic.
  private static let unserved: Set<UInt16> = [303, 404, 405]

  /// Sends each service all its requests: the one that is off serves none, the others all.
  private func expect(_ off: String?, at site: Site) async throws {
    for service in Site.services {
      for (method, path) in try #require(Self.surfaces[service]).requests {
        let status = try await site.status(method, path)
        if service == off {
          #expect(Self.unserved.contains(status), "\(method.name) \(path): \(status)")
        } else {
          #expect(status != 404, "\(method.name) \(path): \(status)")
        }
      }
    }
  }

  /// Returns every row of a service's tables, as `sqlite3` prints them.
  private func rows(_ name: String, _ site: Site) async throws -> [Substring] {
    let surface = try #require(Self.surfaces[name])
    let dump = try await ChildProcess.run(
      "sqlite3", ["\(site.data)/awd.sqlite3", ".dump"], home: site.folder)
    try #require(dump.code == 0)
    return dump.output.split(separator: "\n").filter { line in
      surface.tables.contains { line.hasPrefix("INSERT INTO \($0)") }
    }
  }

  @Test(arguments: Site.services)
  func oneIsOff(_ name: String) async throws {
    let site = try Site()
    let (cursor, keys) = try await site.serving { _ in
      try await expect(nil, at: site)
      let anna = try await site.msgr("anna")
      _ = try await site.msgr("bert")
      try await anna.send("hello", to: "bert")
      let (ann, bob) = (try await site.device("Ann"), try await site.device("Bob"))
      try await bob.settle()
      try await ann.settle()
      try await ann.send("first", to: bob.user)
      try await ann.send("second", to: bob.user)
      try await ann.device.write([1, 2, 3], to: try #require(Filename("file")))
      return (try await bob.next().message.cursor, (ann.keys, bob.keys))
    }
    let before = try await rows(name, site)
    #expect(!before.isEmpty)

    try site.configure(services: Site.services.filter { $0 != name })
    try await site.serving { _ in
      try await expect(name, at: site)
      #expect(try await site.status(.get, "/readyz") == 200)
    }
    #expect(try await rows(name, site) == before)

    try site.configure()
    try await site.serving { _ in
      try await expect(nil, at: site)
      let bert = try await site.msgr("bert", isNew: false)
      #expect(try await bert.inbox().map(\.text) == ["hello"])
      let bob = try await site.device(nil, keys: keys.1, cursor: cursor)
      #expect(try await bob.next().text == "second")
      #expect(
        try await bob.device.read(try #require(Filename("file")), of: keys.0.user) == [1, 2, 3])
      let report = try await site.fetch()
      #expect(report.hasFile, "\(report)")
    }
  }
}
