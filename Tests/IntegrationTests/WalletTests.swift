internal import ApptimistProtocol
internal import Foundation
internal import TestSupport
internal import Testing
internal import WalletClient

/// A wallet that uses all services of one server at the same time.
@Suite(.timeLimit(.minutes(2))) struct WalletTests {
  /// A push in the response of `GET /debug/pushes`.
  private struct Push: Decodable {
    let Id: String
    let DeviceID: String
  }

  @Test func aWalletFetchesScriptsWhileItChatsAndIsPushedTo() async throws {
    let site = try Site()
    try await site.serving { server in
      let phone = String(repeating: "ab", count: 32)
      let anna = try await site.msgr("anna")
      let bert = try await site.msgr("bert", device: phone)
      let carl = try await site.msgr("carl")
      let ann = try await site.device("Ann")
      let bob = try await site.device("Bob")
      try await ann.settle()
      let tablet = try await site.device(nil, keys: ann.keys)
      try await bob.settle()
      let stream = try await carl.stream()

      async let script = site.fetch()
      async let encrypted: Void = {
        for number in 0..<50 { try await bob.send("\(number)", to: ann.user) }
      }()
      async let pushed = {
        var ids: [MsgrMessageID] = []
        for number in 0..<20 { ids.append(try await anna.send("\(number)", to: "bert")) }
        return ids
      }()
      async let streamed: Void = {
        for number in 0..<20 { try await anna.send("\(number)", to: "carl") }
      }()

      let texts = (0..<50).map(String.init)
      #expect(try await ann.next(50) == texts)
      #expect(try await tablet.next(50) == texts)
      try await encrypted
      guard case .stored = try await script.outcome else {
        Issue.record("\(try await script)")
        return
      }
      #expect(try await site.fetch().outcome == .unchanged)

      var received: [String] = []
      while received.count < 20, let message = try await stream.next() {
        received.append(message.text)
      }
      #expect(received == (0..<20).map(String.init))
      try await streamed

      let ids = try await pushed.map(\.text)
      #expect(try await bert.inbox().map(\.id.text) == ids)
      // Each push is listed when it is done.
      for id in ids { _ = try await server.line(with: id) }
      let pushes = try JSONDecoder().decode(
        [Push].self, from: Data(try await site.get("/debug/pushes").utf8))
      #expect(Set(pushes.filter { $0.DeviceID == phone }.map(\.Id)) == Set(ids))
      // Carl's device has a stream open: nothing is pushed to it.
      #expect(pushes.allSatisfy { $0.DeviceID == phone })
    }
  }

  /// A script that is published while wallets are connected is served after a reload, and nobody is disconnected.
  @Test func whatIsPublishedIsFetched() async throws {
    let site = try Site()
    try await site.serving { server in
      let other = "0x00000000219ab540356cbb839cbe05303d7705fa"
      #expect(try await site.fetch(other).outcome == .absent(isGone: false))
      let repository = "\(site.data)/repository"
      let mine = "\(site.folder)/mine.tsml"
      let script = """
        <?xml version="1.0" encoding="UTF-8"?>
        <ts:token xmlns:ts="http://tokenscript.org/\(Site.namespace)/tokenscript">
        <ts:contract interface="erc20" name="Coin">
        <ts:address network="1">\(other)</ts:address></ts:contract>
        <ts:origins><ts:ethereum contract="Coin"/></ts:origins></ts:token>
        """
      try Data(script.utf8).write(to: URL(filePath: mine))
      let keys = "\(site.data)/demo-keys"
      let signed = try await runAwd(
        [
          "repo", "sign", mine, "--key", "\(keys)/demo.key.pem", "--certificate",
          "\(keys)/demo.cert.pem",
        ], home: site.folder)
      try #require(signed.code == 0, "\(signed)")
      let before = server.errorCount
      try FileManager.default.moveItem(atPath: mine, toPath: "\(repository)/mine.tsml")
      server.signal(SIGHUP)
      _ = try await server.line(with: "reloaded", after: before)
      guard case .stored = try await site.fetch(other).outcome else {
        Issue.record("\(try await site.fetch(other))")
        return
      }
    }
  }
}
