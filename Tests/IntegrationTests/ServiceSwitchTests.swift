import ApptimistProtocol
import Foundation
import HTTPProtocol
import Testing
import WalletClient

/// Services are switched off one by one: the others don't notice, and what it had stays.
@Suite(.timeLimit(.minutes(2))) struct ServiceSwitchTests {
  /// How each service is asked, and what its tables' names begin with.
  private struct Surface {
    let path: String
    let tables: [String]
  }

  private static let surfaces = [
    "tokenscript": Surface(
      path: "/\(Site.namespace)/\(Site.contract)", tables: ["tokenscript_"]),
    "msgr": Surface(path: "/openapi.json", tables: ["msgr_", "push_outbox"]),
    "apptimist": Surface(path: "/siren/service.json", tables: ["apptimist_"]),
  ]

  private func status(_ name: String, _ site: Site) async throws -> UInt16 {
    try await site.status(.get, try #require(Self.surfaces[name]).path)
  }

  /// Every row of a service's tables, as `sqlite3` prints them.
  private func rows(_ name: String, _ site: Site) async throws -> [Substring] {
    let surface = try #require(Self.surfaces[name])
    let dump = try await Child.run(
      program: "/usr/bin/sqlite3", ["\(site.data)/awd.sqlite3", ".dump"], home: site.folder)
    try #require(dump.code == 0)
    return dump.output.split(separator: "\n").filter { line in
      surface.tables.contains { line.hasPrefix("INSERT INTO \($0)") }
    }
  }

  @Test(arguments: Site.services)
  func oneIsOff(_ name: String) async throws {
    let site = try Site()
    let (head, keys) = try await site.serving { _ in
      for service in Site.services { #expect(try await status(service, site) != 404) }
      let anna = try await site.msgr("anna")
      _ = try await site.msgr("bert")
      try await anna.send("hello", to: "bert")
      let (ann, bob) = (try await site.device("Ann"), try await site.device("Bob"))
      try await bob.settle()
      try await ann.settle()
      try await ann.send("first", to: bob.user)
      try await ann.send("second", to: bob.user)
      try await ann.device.write([1, 2, 3], to: try #require(Filename("file")))
      return (try await bob.next().message.id, (ann.keys, bob.keys))
    }
    let before = try await rows(name, site)
    #expect(!before.isEmpty)

    try site.configure(services: Site.services.filter { $0 != name })
    try await site.serving { _ in
      for service in Site.services {
        let isOff = try await status(service, site) == 404
        #expect(isOff == (service == name), "\(service)")
      }
      #expect(try await site.status(.get, "/readyz") == 200)
    }
    #expect(try await rows(name, site) == before)

    try site.configure()
    try await site.serving { _ in
      for service in Site.services { #expect(try await status(service, site) != 404) }
      let bert = try await site.msgr("bert", isNew: false)
      #expect(try await bert.inbox().map(\.text) == ["hello"])
      let bob = try await site.device(nil, keys: keys.1, head: head)
      #expect(try await bob.next().text == "second")
      #expect(
        try await bob.device.read(try #require(Filename("file")), of: keys.0.user) == [1, 2, 3])
      let report = try await site.fetch()
      #expect(report.hasFile, "\(report)")
    }
  }
}
