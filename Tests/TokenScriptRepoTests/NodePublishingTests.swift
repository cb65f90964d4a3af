internal import Cryptography
internal import Ethereum
internal import Foundation
internal import HTTPProtocol
internal import Storage
internal import TestSupport
internal import Testing
internal import XMLSecurity

@testable import TokenScriptRepo

/// Tests of publishing at nodes that share a PostgreSQL database, each with a folder of its own. Nothing tells them of each
/// other's publications: they look.
@Suite(.ownThreads) struct NodePublishingTests: PublishingSuite, ChainSuite {
  let fixture: RepositoryFixture
  private let other: RepositoryFixture

  init() throws {
    fixture = try RepositoryFixture()
    other = try RepositoryFixture()
  }

  private func withNodes(
    _ toml: String = "",
    _ body: (_ first: RepositoryServer, _ second: RepositoryServer, Store) async throws -> Void
  ) async throws {
    let server = try PostgreSQLServer.shared.get()
    let database = try server.makeDatabase()
    defer { try? server.removeDatabase(database) }
    let address = try PostgreSQLAddress(server.url(of: database))
    var stores: [Store] = []
    var nodes: [RepositoryServer] = []
    for fixture in [fixture, other] {
      let store = try await Store.open(
        .postgreSQL(address), migrations: TokenScriptService.migrations)
      stores.append(store)
      nodes.append(
        try await fixture.server(
          "\(toml)\n[tokenscript.publish]\npolicy = \"open\"", store: store,
          publicURL: "https://repo.example"))
    }
    let running = nodes.map { node in Task { try await node.service.run() } }
    let result: Result<Void, any Error>
    do { result = .success(try await body(nodes[0], nodes[1], stores[0])) } catch {
      result = .failure(error)
    }
    for task in running { task.cancel() }
    for store in stores { await store.close() }
    try result.get()
  }

  private func expect(
    _ node: RepositoryServer, _ status: Status, _ bytes: [UInt8]? = nil,
    at path: String = Self.place
  ) async throws {
    try await waitUntil {
      let response = try await node.get(path)
      return response.status == status && (bytes == nil || response.bytes == bytes)
    }
  }

  @Test func whatOneNodeTakesAllServe() async throws {
    try await withNodes { first, second, _ in
      let file = try sign(at: Self.now)
      #expect(try await send(first, file).status == .created)
      try await expect(second, .ok, file)
      // What one refuses the other refuses too, at once.
      let newer = try sign(at: Self.now + 5)
      #expect(try await send(first, newer).status == .ok)
      #expect(try await send(second, sign(at: Self.now + 4)).status == .conflict)
      #expect(try await send(second, newer).status == .ok)
      try await expect(second, .ok, newer)

      let time = "2023-11-14T22:13:20Z"
      let message = Withdrawal.message(
        url: "https://repo.example" + Self.place, digest: SHA256.hash(newer), time: time)
      let statement = Withdrawal(
        time: time, signature: try PrivateKey(pem: Signer.shop.key.keyPEM).sign(message: message))
      let field = ["Authorization": statement.fieldValue]
      #expect(try await first.get(Self.place, field, method: .delete).status == .ok)
      try await expect(second, .gone)
      #expect(try await send(second, newer).status == .gone)
    }
  }

  /// What one node hears from a chain the other knows, too.
  @Test func theChainsWordsAreOneForAll() async throws {
    let contract = try #require(EthereumAddress(alice))
    let key = try #require(EthereumAddress(Signer.issuer.identifier()))
    let chain = TestChain()
    try await withStandIn(Endpoint { chain.answer($0) }) { url in
      try await withNodes("[tokenscript.chains]\n1 = \"\(url)\"") { first, second, _ in
        let file = try sign(.issuer, at: Self.now)
        #expect(try await send(first, file).status == .created)
        try await expect(second, .ok, file)
        chain.set(contract, .name, Encoded.string("Heard"))
        chain.set(contract, FunctionCall.hasRoles(key)[0], Encoded.word(1))
        _ = try await first.service.scheduler.requestAll(
          first.service.indexer.current.chainRequests)
        try await first.service.reload()
        try await waitUntil {
          second.service.indexer.current.rows.first?.contractName != nil
        }
        let rows = [first, second].map { $0.service.indexer.current.rows.first }
        #expect(rows.map { $0?.contractName } == ["Heard", "Heard"])
        #expect(rows.map { $0?.standing } == [.issuer, .issuer])
      }
    }
  }

  @Test func aContractHasOneFirstOwner() async throws {
    try await withNodes { first, second, _ in
      let signers = (0..<4).map { _ in Signer(.p256, "stranger.example") }
      for round in 0..<5 {
        let place = "/2020/06/chain/\(round + 1)/\(alice)"
        let statuses = try await withThrowingTaskGroup(of: UInt16.self) { group in
          for (number, signer) in signers.enumerated() {
            let file = try sign(signer, on: ["\(round + 1)"])
            let node = number % 2 == 0 ? first : second
            group.addTask { try await self.send(node, file, to: place).status.code }
          }
          return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses.sorted() == [201, 403, 403, 403])
      }
    }
  }

  @Test func acceptancesAreInOneOrder() async throws {
    try await withNodes { first, second, _ in
      let files = try await [signWithoutTime(note: "1"), signWithoutTime(note: "2")]
      #expect(try await send(first, files[0]).status == .created)
      let next = try await send(second, files[1])
      #expect(next.status == .ok && next[.lastModified] == HTTPDate(Self.now + 1).text)
      try await expect(first, .ok, files[1])
      for node in [first, second] {
        #expect(try await send(node, files[0]).status == .conflict)
      }
    }
  }

  @Test func aNetworkPublishesThirtyTimesAtAllNodes() async throws {
    try await withNodes { first, second, _ in
      for number in 0..<30 {
        let node = number % 2 == 0 ? first : second
        let file = try sign(at: Self.now + Int64(number))
        #expect(try await send(node, file).status.code < 300)
      }
      for node in [first, second] {
        #expect(try await send(node, sign(at: Self.now + 40)).status == .tooManyRequests)
      }
    }
  }

  @Test func aNetworkReportsTenTimesAtAllNodes() async throws {
    try await withNodes { first, second, _ in
      #expect(try await send(first, sign()).status == .created)
      try await expect(second, .ok)
      let url = "https://repo.example\(Self.place)"
      let digest = SHA256.hash([]).hex
      let body = Array(
        "{\"url\":\"\(url)\",\"sha256\":\"\(digest)\",\"reason\":\"other\"}".utf8)
      let head = try RequestHead(
        method: .post, path: "/tokenscript/report", authority: "repo.example")
      for number in 0..<12 {
        let response = await (number % 2 == 0 ? first : second).table.respond(
          to: Request(head: head, body: body, origin: RequestOrigin(peer: "192.0.2.1")))
        #expect(response.status == (number < 10 ? .accepted : .tooManyRequests))
      }
    }
  }

  /// A node that starts later, and one with other rules or files, serve it; and no node deletes another's readings.
  @Test func otherFilesAndRulesAreOtherNodesOwn() async throws {
    try other.write("other.tsml", bytes: Signer.rival.sign(tokenScript(for: bob), at: 1))
    try await withNodes("trust = \"off\"") { first, second, store in
      let file = try sign()
      #expect(try await send(first, file).status == .created)
      let late = try await fixture.server("", store: store)
      #expect(try await late.get(Self.place).bytes == file)
      func rows() async throws -> Int? {
        try await store.read { try $0.one("SELECT count(*) FROM tokenscript_files") { try $0[0] } }
      }
      let before = try await rows()
      for node in [first, late, second] { try await node.service.reload() }
      #expect(try await rows() == before)
      try await expect(second, .ok, file)
    }
  }

  /// A certificate that the database can't keep the name of is its own file's fault.
  @Test func aNameWithNULStopsNothing() async throws {
    let folder = fixture.folder
    let script = """
      set -e; cd \(folder)
      openssl ecparam -name prime256v1 -genkey -noout -out k.pem
      printf '[req]\\ndistinguished_name=n\\nprompt=no\\nstring_mask=utf8only\\n[n]\\nCN=aXb\\n' > c.conf
      openssl req -x509 -new -key k.pem -days 3650 -config c.conf -outform DER -out c.der
      python3 - <<'E'
      import subprocess
      whole = open('c.der', 'rb').read().replace(b'aXb', b'a\\0b')
      length = int.from_bytes(whole[2:4], 'big') if whole[1] == 0x82 else whole[2]
      start = 4 if whole[1] == 0x82 else 3
      head = {0x81: 3, 0x82: 4}.get(whole[start + 1], 2)
      size = int.from_bytes(whole[start + 2:start + head], 'big') if head > 2 else whole[start + 1]
      body = whole[start:start + head + size]
      open('body', 'wb').write(body)
      sign = subprocess.run(['openssl', 'dgst', '-sha256', '-sign', 'k.pem', 'body'], capture_output=True, check=True).stdout
      algorithm = bytes.fromhex('300a06082a8648ce3d040302')
      inside = body + algorithm + b'\\x03' + bytes([len(sign) + 1]) + b'\\0' + sign
      open('n.der', 'wb').write(b'\\x30\\x82' + len(inside).to_bytes(2, 'big') + inside)
      E
      openssl x509 -inform DER -in n.der -out n.pem
      """
    let made = try await ChildProcess.run("sh", ["-c", script])
    try #require(made.code == 0, "\(made)")
    let template = try await signWithoutTime(note: "n")
    let unsigned = String(decoding: template, as: UTF8.self)
      .replacing(/<ds:DigestValue>[^<]*<\/ds:DigestValue>/, with: "<ds:DigestValue/>")
      .replacing(/<ds:SignatureValue>[^<]*<\/ds:SignatureValue>/, with: "<ds:SignatureValue/>")
      .replacing(/<ds:X509Data>.*<\/ds:X509Data>/.dotMatchesNewlines(), with: "<ds:X509Data/>")
    try fixture.write("template.txt", unsigned)
    let signed = try await ChildProcess.run(
      "xmlsec1",
      [
        "--sign", "--privkey-pem", "\(folder)/k.pem,\(folder)/n.pem", "--output",
        "\(fixture.root)/nul.tsml", "\(fixture.root)/template.txt",
      ])
    try #require(signed.code == 0, "\(signed)")
    try fixture.write("good.tsml", bytes: Signer.rival.sign(tokenScript(for: bob), at: 1))
    try await withNodes { first, _, _ in
      let index = first.service.indexer.current
      #expect(index.refusals.map(\.path.text) == ["nul.tsml"])
      #expect(index.refusals.first?.reason.words.contains("NUL") == true)
      let response = try await first.get("/\(bob)")
      #expect(response.status == .ok)
    }
  }
}
