internal import Cryptography
internal import Foundation
internal import HTTPProtocol
internal import TestSupport
internal import Testing
internal import WalletClient
internal import HTTPClient

/// Signals while the server is busy.
@Suite(.timeLimit(.minutes(2))) struct SignalTests {
  /// Returns the sender's name in a text of `Load`.
  private static func bySender(_ texts: [String]) -> [String: [Int]] {
    Dictionary(grouping: texts) { String($0.prefix { $0 != ":" }) }.mapValues { texts in
      texts.compactMap { Int($0.drop { $0 != ":" }.dropFirst()) }
    }
  }

  /// Reads until all acknowledged messages have come, each once and in its sender's order.
  private func expectAll(_ acknowledged: [String], on phone: Phone, after read: [String])
    async throws
  {
    var texts = read
    var missing = Set(acknowledged).subtracting(read)
    while !missing.isEmpty {
      let text = try await phone.next().text
      missing.remove(text)
      texts.append(text)
    }
    for (sender, numbers) in Self.bySender(texts) {
      #expect(numbers == Array(0..<numbers.count), "\(sender)")
    }
  }

  /// The server is stopped or killed, and started again. All that it acknowledged or delivered is there.
  @Test(arguments: [SIGTERM, SIGKILL])
  func nothingAcknowledgedIsLost(_ signal: Int32) async throws {
    let site = try Site()
    let server = try await site.serve()
    let load = try await Load.start(on: site)
    let watcher = try await site.msgr("watcher")
    let stream = try await site.msgr(Load.recipient, device: "stream:delivered", isNew: false)
      .stream()
    let delivered = Task {
      var messages: [MsgrMessage] = []
      while let message = try? await stream.next() { messages.append(message) }
      return messages
    }
    let old = try await site.device("Old", versions: .version1)
    try await old.settle()
    let sockets = try await open(10, on: site, as: watcher, and: old.keys)
    try await load.advance(by: 20)
    let received = try await load.phone.next(20)

    server.signal(signal)
    let ending = try await server.ended()
    // A stop that takes ten seconds exits with 1.
    #expect(ending == (signal == SIGTERM ? .exited(0) : .killed(SIGKILL)))
    for socket in sockets.streams {
      let end = try await socket.ended()
      if signal == SIGTERM { #expect(end == .closed(1001, reason: "")) }
    }
    for visitor in sockets.visitors where signal == SIGTERM {
      let farewell = try await visitor.farewell()
      #expect(farewell.redirect == "ws://127.0.0.1:\(site.port)/siren" || farewell.code == 1001)
      #expect(farewell.code != nil)
    }

    // Devices reconnect by themselves, and senders of Msgr have ended with an error.
    try await site.serving { _ in
      let record = await load.finish()
      #expect(record.failures.count == 2 && record.failures.allSatisfy { !$0.hasPrefix("device") })
      let inbox = try await site.msgr(Load.recipient, isNew: false).inbox()
      let lost = Set(record.msgr).subtracting(inbox.map(\.text))
      #expect(lost.isEmpty)
      for (sender, numbers) in Self.bySender(inbox.map(\.text)) {
        #expect(numbers == Array(0..<numbers.count), "\(sender)")
      }
      // The inbox has the messages of the stream under the same identifiers.
      #expect(Set(await delivered.value.map(\.id)).isSubset(of: inbox.map(\.id)))
      try await expectAll(record.apptimist, on: load.phone, after: received)
      let fresh = try await site.device(nil, keys: load.phone.keys)
      try await expectAll(record.apptimist + received, on: fresh, after: [])
      #expect(try await site.fetch().hasFile)
    }
  }

  /// Streams, and connections of devices, logged in or not.
  private func open(
    _ count: Int, on site: Site, as session: MsgrSession, and keys: DeviceKeys
  ) async throws -> (streams: [WebSocket], visitors: [Visitor]) {
    let client = try WebSocketClient()
    let url = try #require(WebSocketURL("ws://127.0.0.1:\(site.port)/stream"))
    var fields = HeaderFields()
    fields.append(.authorization, "Bearer \(try #require(session.token))")
    var streams: [WebSocket] = []
    var visitors: [Visitor] = []
    for number in 0..<count {
      streams.append(try await client.connect(to: url, fields: fields))
      visitors.append(try await Visitor(site, client, as: number.isMultiple(of: 2) ? keys : nil))
    }
    return (streams, visitors)
  }

  @Test func aReloadIsNotNoticed() async throws {
    let site = try Site()
    try await site.serving { server in
      let load = try await Load.start(on: site)
      let watcher = try await site.msgr("watcher")
      let old = try await site.device("Old", versions: .version1)
      try await old.settle()
      let sockets = try await open(3, on: site, as: watcher, and: old.keys)
      for _ in 0..<3 {
        try await load.advance(by: 5)
        let before = server.errorCount
        server.signal(SIGHUP)
        _ = try await server.line(with: "reloaded", after: before)
      }
      // A broken configuration leaves the old one in effect.
      let whole = try String(contentsOfFile: site.configuration, encoding: .utf8)
      try Data("\(whole)\n[log]\nlevel = \"loud\"\n".utf8)
        .write(to: URL(filePath: site.configuration))
      let before = server.errorCount
      server.signal(SIGHUP)
      let refusal = try await server.line(with: "configuration refused", after: before)
      #expect(refusal.contains("log.level"))
      try await load.advance(by: 5)
      let record = await load.finish()
      #expect(record.failures == [] && load.phone.losses == 0)
      #expect(sockets.streams.allSatisfy { $0.end == nil })
      try await expectAll(record.apptimist, on: load.phone, after: [])
      let inbox = try await site.msgr(Load.recipient, isNew: false).inbox()
      #expect(inbox.map(\.text).sorted() == record.msgr.sorted())
    }
  }
}
