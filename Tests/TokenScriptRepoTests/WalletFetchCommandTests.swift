internal import Formats
internal import Foundation
internal import HTTPProtocol
internal import HTTPServer
internal import ServiceKit
internal import TestSupport
internal import Testing
internal import Platform
internal import XMLSecurity

@testable import TokenScriptRepo

/// `awd wallet fetch`: its arguments, its output and its errors.
@Suite(.ownThreads) struct WalletFetchCommandTests {
  /// The output of the command, and its error.
  private struct Outcome {
    var output = ""
    var error: CommandError?

    var refusal: String {
      guard case .refused(let reason) = error else { return "" }
      return reason
    }
  }

  /// Runs the command, which needs neither the configuration nor the store.
  private func run(_ words: [String]) async throws -> Outcome {
    let lines = Lock<[String]>([])
    var outcome = Outcome()
    do {
      let context = CommandContext(
        arguments: try CommandArguments(words, for: WalletFetchCommand.parameters), services: [],
        environment: [:], print: { line in lines.withLock { $0.append(line) } },
        readConfiguration: { _, _ in throw CommandError.refused("no configuration") },
        openService: { _, _, _ in throw CommandError.refused("no store") })
      try await WalletFetchCommand.run(context)
    } catch let error as CommandError {
      outcome.error = error
    }
    outcome.output = lines.withLock { $0.joined(separator: "\n") }
    return outcome
  }

  private static let contract = "0x6b175474e89094c44da98b954eedeac495271d0f"
  private static let usual = ["--network", "1", "--cache", "c", "--repo", "http://127.0.0.1:1"]

  private static let mistakes: [([String], String)] = [
    (usual, "ADDRESS is missing"), (usual + ["0x12"], "ADDRESS: expected 0x"),
    (usual + ["0x6b175474e89094c44da98b954eedeac495271d0f/../x"], "ADDRESS: expected 0x"),
    (usual + [contract, "--network", "../1"], "--network: expected a number"),
    (usual + [contract, "--network", "-1"], "--network: expected a number"),
    (usual + [contract, "--repo", "file:///etc"], "--repo: expected a URL"),
    (
      usual + [contract, "--namespace", "2019/05", "--namespace", "../.."], "--namespace: expected"
    ),
    (usual + [contract, "--rpc", "file:///etc"], "--rpc: expected a URL"),
    (usual + [contract, "--gateway", "ipfs"], "--gateway: expected a URL"),
    (usual + [contract, "--client", "x"], "--client: expected NAME/VERSION"),
    (usual + [contract, "--platform", "Symbian/9"], "--platform: expected iOS/VERSION"),
    (Array(usual[2...]) + [contract], "--network is missing"),
    (Array(usual[..<4]) + [contract], "--repo is missing"),
    (["--network", "1", "--repo", "http://127.0.0.1:1", contract], "--cache is missing"),
  ]

  @Test(arguments: mistakes)
  func usage(_ words: [String], _ problem: String) async throws {
    let outcome = try await run(words)
    guard case .usage(let text) = outcome.error else {
      Issue.record("\(outcome)")
      return
    }
    #expect(text.contains(problem) && outcome.output.isEmpty)
  }

  /// Answers every request with one response.
  private struct Always: Responder {
    let response: Response

    func plan(for head: RequestHead, from origin: RequestOrigin) -> RequestPlan {
      .respond(bodyLimit: 0) { [response] _ in response }
    }
  }

  private func run(
    _ response: Response, _ words: [String] = [], cache: String
  ) async throws -> Outcome {
    let server = try WebServer(
      options: ServerOptions(endpoints: [.tcp(.loopback, port: 0)]),
      responder: Always(response: response), report: { _ in })
    try server.start()
    let outcome = try await run(
      [Self.contract, "--network", "1", "--cache", cache] + words
        + ["--repo", "http://\(server.endpoints[0])"])
    await server.drain(within: .zero)
    return outcome
  }

  private func signed() throws -> [UInt8] {
    let key = try DevelopmentKey(
      .p256, commonName: "shop \u{1b}[2J.example", notBefore: Timestamp(seconds: 1_500_000_000))
    let text = """
      <token xmlns="http://tokenscript.org/2019/05/tokenscript"><contract name="A">\
      <address network="1">\(Self.contract)</address></contract>\
      <origins><ethereum contract="A"/></origins></token>
      """
    return try SignatureWriter(
      key: PrivateKey(pem: key.keyPEM),
      certificates: Certificate.certificates(pem: key.certificatePEM)
    ).sign(Array(text.utf8), at: Timestamp(seconds: 1_600_000_000))
  }

  @Test func storesAndSaysSo() async throws {
    let fixture = try CommandsFixture()
    let file = Response(.ok, body: .array(try signed()))
    let stored = try await run(file, ["--namespace", "2019/05"], cache: "\(fixture.folder)/a/b")
    #expect(stored.error == nil)
    #expect(stored.output.hasPrefix("stored \(fixture.folder)/a/b/1/\(Self.contract).xml\n"))
    // The signer's name can't move the terminal's cursor.
    #expect(stored.output.contains("shop \u{FFFD}[2J.example (not trusted: "))
    #expect(stored.output.hasSuffix("Sun, 13 Sep 2020 12:26:40 GMT"))
    let again = try await run(file, cache: "\(fixture.folder)/a/b")
    #expect(again.error == nil && again.output.hasPrefix("unchanged "))
  }

  private struct Printed: Decodable {
    let result: String
    let path: String
    let cached: Bool
    let namespace: String?
    let trusted: Bool?
  }

  @Test func printsJSON() async throws {
    let fixture = try CommandsFixture()
    let outcome = try await run(
      Response(.ok, body: .array(try signed())), ["--json"], cache: fixture.folder)
    #expect(outcome.error == nil)
    let printed = try JSONDecoder().decode(Printed.self, from: Data(outcome.output.utf8))
    #expect(printed.result == "stored" && printed.cached && printed.namespace == "2019/05")
    #expect(printed.path == "\(fixture.folder)/1/\(Self.contract).xml" && printed.trusted == false)
  }

  @Test(
    arguments: [
      (404, "absent", "the repository has no file for it"),
      (204, "unreadable", "no version that this wallet reads"),
      (410, "gone", "the repository's file is gone"),
      (200, "invalid", "2019/05: rejected: it can't be read"),
      (503, "failed", "the server failed; try again later (503)"),
    ] as [(UInt16, String, String)])
  func refusals(_ status: UInt16, _ result: String, _ reason: String) async throws {
    let fixture = try CommandsFixture()
    let outcome = try await run(
      Response(Status(status)), ["--json", "--namespace", "2019/05"], cache: fixture.folder)
    #expect(outcome.refusal.contains(reason))
    let printed = try JSONDecoder().decode(Printed.self, from: Data(outcome.output.utf8))
    #expect(printed.result == result && !printed.cached)
  }

  @Test func listsTheChoices() async throws {
    let fixture = try CommandsFixture()
    var response = Response(.multipleChoices)
    response.fields.append(.link, "</a?signer=it%27s%20me>; rel=\"alternate\"; title=\"Me\"")
    let outcome = try await run(response, cache: fixture.folder)
    #expect(outcome.refusal.contains("choose one by --signer"))
    #expect(outcome.output == "--signer 'it'\\''s me'  Me")
  }

  /// The schemas are applied in a process of its own, so this one has to be awd.
  @Test(arguments: ["token", "other"], ["2019/05", "2019-05", "2020/06"])
  func aSchemaRefusesAFile(_ root: String, _ version: String) async throws {
    let fixture = try CommandsFixture()
    let namespace = "http://tokenscript.org/2019/05/tokenscript"
    try fixture.write(
      "schemas/\(version)/tokenscript.xsd",
      """
      <xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="\(namespace)">
      <xs:element name="\(root)"><xs:complexType><xs:sequence>
      <xs:any namespace="##any" processContents="skip" maxOccurs="unbounded"/>
      </xs:sequence></xs:complexType></xs:element></xs:schema>
      """)
    let isRefused = root == "other" && version != "2020/06"
    try await withServer(Always(response: Response(.ok, body: .array(try signed())))) { url in
      let outcome = try await ChildProcess.run(
        CommandsFixture.program(),
        [
          "wallet", "fetch", Self.contract, "--network", "1", "--repo", url, "--json",
          "--cache", "\(fixture.folder)/cache", "--schemas", "\(fixture.folder)/schemas",
        ], home: fixture.folder)
      #expect(outcome.code == (isRefused ? 1 : 0), "\(outcome)")
      #expect(outcome.output.contains("\"rejected\" : \"schema\"") == isRefused)
      #expect(fixture.exists("cache/1/\(Self.contract).xml") != isRefused)
    }
  }
}
