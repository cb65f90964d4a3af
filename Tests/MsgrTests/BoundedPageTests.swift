internal import Foundation
internal import HTTPProtocol
internal import Routing
internal import TestSupport
internal import Testing

@testable import Msgr

/// What is read for one who may not take it: a bounded part at a time.
@Suite(.ownThreads) struct BoundedPageTests {
  private static let long = String(repeating: "x", count: 60_000)
  /// The bytes that a piece may have: the texts of a page, and what stands around them.
  private static let piece = PageBounds.bytes + 8192

  /// A service whose topic Anna has subscribed to.
  private func site(_ configuration: String = "burst = 1000") async throws -> NtfyTests.Site {
    let site = try await NtfyTests.Site(configuration)
    let response = try await site.fixture.post(
      "/msgr/topics/subscribe", ["Username": "anna", "Password": "pw", "Topic": "alerts"])
    #expect(response.status == 200)
    return site
  }

  private func publish(_ count: Int, _ text: String, _ site: NtfyTests.Site) async throws {
    for number in 0..<count {
      let response = try await site.request(.put, "/alerts", "\(number) \(text)")
      #expect(response.status == 200)
    }
  }

  /// Makes a request, and returns the pieces of the body; of one that comes whole, nil.
  private func pieces(
    _ method: HTTPProtocol.Method, _ path: String, _ body: String = "", _ site: NtfyTests.Site
  ) async throws -> (pieces: [[UInt8]]?, whole: [UInt8]) {
    var fields = [NtfyTests.Site.basic("anna")]
    if !body.isEmpty { fields.append(("Content-Length", "\(body.utf8.count)")) }
    let head = try RequestHead(method: method, path: path, authority: "h", fields: fields)
    let response = await site.fixture.table.respond(
      to: Request(
        head: head, body: Array(body.utf8), origin: RequestOrigin(peer: "127.0.0.1")))
    #expect(response.status == .ok)
    switch response.body {
    case .pieces(let stream):
      let pieces = try await stream.reduce(into: []) { $0.append($1) }
      return (pieces, pieces.flatMap(\.self))
    case .array(let whole): return (nil, whole)
    default: return (nil, [])
    }
  }

  private static let readings: [(HTTPProtocol.Method, String, String)] = [
    (.get, "/message?limit=200", ""), (.get, "/alerts/json?poll=1", ""),
    (.post, "/msgr/inbox", #"{"Username":"anna","Password":"pw"}"#),
    (
      .post, "/msgr/history",
      ##"{"Username":"anna","Password":"pw","With":"#alerts","Limit":"100"}"##
    ),
    (
      .post, "/msgr/history", #"{"Username":"anna","Password":"pw","Topic":"alerts","Limit":"100"}"#
    ),
  ]

  @Test(arguments: 0..<5) func longMessagesComeInPieces(_ index: Int) async throws {
    let site = try await site()
    try await publish(7, Self.long, site)
    let (method, path, body) = Self.readings[index]
    let found = try await pieces(method, path, body, site)
    let pieces = try #require(found.pieces)
    #expect(pieces.count >= 3 && pieces.allSatisfy { $0.count <= Self.piece })
    #expect(texts(in: found.whole) == 7)
  }

  @Test(arguments: 0..<5) func shortMessagesComeAtOnce(_ index: Int) async throws {
    let site = try await site()
    try await publish(40, "short", site)
    let (method, path, body) = Self.readings[index]
    let found = try await pieces(method, path, body, site)
    #expect(found.pieces == nil)
    #expect(texts(in: found.whole) == 40)
  }

  /// Counts the messages of any of the forms.
  private func texts(in body: [UInt8]) -> Int {
    let lines = body.split(separator: UInt8(ascii: "\n"))
    let values = lines.compactMap { try? JSONSerialization.jsonObject(with: Data($0)) }
    #expect(values.count == lines.count)
    if let list = values.first as? [Any] { return list.count }
    if let page = (values.first as? [String: Any])?["messages"] as? [Any] { return page.count }
    return values.count
  }

  @Test func gotifysPagesAreCompleteWhereTheyAreCut() async throws {
    let site = try await site()
    try await publish(9, Self.long, site)
    var path = "/message?limit=4"
    var numbers: [Int] = []
    for left in [5, 1, 0] {
      let page = try await site.request(.get, path)
      let paging = try #require(page.object["paging"] as? [String: Any])
      let messages = try #require(page.object["messages"] as? [[String: Any]])
      numbers += messages.compactMap { $0["id"] as? Int }
      #expect(paging["size"] as? Int == messages.count)
      path = (paging["next"] as? String)?.replacing("http://h", with: "") ?? ""
      #expect(path.isEmpty == (left == 0))
    }
    #expect(numbers.count == 9 && numbers == numbers.sorted(by: >))
  }

  @Test func aPollOfManyTopicsKeepsOneBudget() async throws {
    let site = try await NtfyTests.Site("burst = 1000")
    for number in 0..<24 {
      _ = try await site.request(.put, "/t\(number % 8)", "\(number) \(Self.long)")
    }
    for number in 0..<4 {
      _ = try await site.request(
        .put, "/t\(number)", "later \(number) \(Self.long)", [("Delay", "1\(number)m")])
    }
    let topics = site.fixture.service.topics
    let names = (0..<8).map { TopicName(stored: "t\($0)") }
    let poll = try await topics.poll(
      names, since: .all, TopicFilter(), withWaiting: true,
      by: TopicRequester(
        caller: .account(UserName(stored: "anna")), credential: .nothing, site: "127.0.0.1"))
    var texts: [String] = []
    var isOver = false
    while !isOver {
      let page = try await poll.next()
      #expect(page.entries.count <= 2)
      texts += page.entries.map { $0.text.filter { $0 != "x" } }
      isOver = page.ends != nil
    }
    #expect(texts == (0..<24).map { "\($0) " } + (0..<4).map { "later \($0) " })
  }

  @Test func anEntryIsFoundByItsIdentifierWhereverItIs() async throws {
    let site = try await NtfyTests.Site()
    let here = try await site.request(.put, "/alerts", "here").object["id"] as? String
    let later = try await site.request(.put, "/alerts", "later", [("Delay", "1h")])
    for (id, path, count) in [
      (here, "alerts", 1), (here, "others", 0), (later.object["id"] as? String, "alerts", 1),
    ] {
      let found = try await site.poll("&sched=1&id=\(try #require(id))", topic: path)
      #expect(found.count == count)
    }
  }

  @Test func gotifysReadingsAreCounted() async throws {
    let site = try await NtfyTests.Site("subscribe_burst = 5\nsubscribe_refill = \"1h\"")
    var statuses: [Int] = []
    for _ in 0..<6 { statuses.append(try await site.request(.get, "/message").status) }
    #expect(statuses == [200, 200, 200, 200, 200, 429])
    let refused = try await site.request(.get, "/application")
    #expect(refused.object["errorCode"] as? Int == 429)
  }
}
