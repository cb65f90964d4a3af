internal import Cryptography
internal import Foundation
internal import HTTPProtocol
internal import TestSupport
internal import Testing
internal import XMLSecurity

@testable import TokenScriptRepo

/// Tests of withdrawing published files over HTTP.
@Suite(.ownThreads) struct WithdrawalTests: PublishingSuite {
  let fixture: RepositoryFixture

  init() throws { fixture = try RepositoryFixture() }

  private static let kinds: [PublicKey.Kind] = [.rsa, .p256, .p384, .secp256k1]

  /// Sends a statement about a file, with the signed text and the sent one.
  private func withdraw(
    _ server: RepositoryServer, _ file: [UInt8], by signer: Signer, at time: String? = nil,
    url: String = "https://repo.example" + Self.place, to path: String = Self.place
  ) async throws -> Response {
    let time = time ?? "2023-11-14T22:13:20Z"
    let key = try PrivateKey(pem: signer.key.keyPEM)
    let message = Withdrawal.message(url: url, digest: SHA256.hash(file), time: time)
    let statement = Withdrawal(time: time, signature: try key.sign(message: message))
    return try await server.get(
      path, ["Authorization": statement.fieldValue], method: .delete)
  }

  @Test(arguments: kinds)
  func itsSignerWithdrawsAFile(_ kind: PublicKey.Kind) async throws {
    let signer = Signer(kind, "signer.example", isBare: kind == .secp256k1)
    let server = try await server()
    let file = try sign(signer)
    #expect(try await send(server, file).status == .created)
    #expect(try await withdraw(server, file, by: signer).status == .ok)
    for path in [Self.place, "/\(alice)"] {
      #expect(try await server.get(path).status == .gone)
    }
    // The same bytes stay gone, older ones are refused, and nobody else takes the place.
    let same = try await send(server, file)
    #expect(same.status == .gone)
    #expect(try refusal(same).error.contains("withdrawn"))
    #expect(try await send(server, sign(signer, at: Self.now - 1)).status == .conflict)
    #expect(try await send(server, sign(.rival, at: Self.now + 5)).status == .forbidden)
    #expect(try await withdraw(server, file, by: signer).status == .gone)
    let newer = try sign(signer, at: Self.now + 5)
    #expect(try await send(server, newer).status == .created)
    #expect(try await server.get(Self.place).bytes == newer)
    // An old statement is about another file.
    #expect(try await withdraw(server, file, by: signer).status == .forbidden)
  }

  @Test func aStatementIsForOneURLAndTimeAndKey() async throws {
    let server = try await server()
    let file = try sign()
    #expect(try await send(server, file).status == .created)
    let wrong: [(Response, UInt16)] = [
      (try await server.get(Self.place, method: .delete), 401),
      (try await server.get(Self.place, ["Authorization": "Basic eA=="], method: .delete), 401),
      (try await withdraw(server, file, by: .rival), 403),
      (try await withdraw(server, file, by: .impostor), 403),
      (try await withdraw(server, file + [0], by: .shop), 403),
      (try await withdraw(server, file, by: .shop, url: "https://other.example" + Self.place), 403),
      (try await withdraw(server, file, by: .shop, at: "2023-11-14T22:07:19Z"), 400),
      (try await withdraw(server, file, by: .shop, at: "2023-11-14T22:18:21Z"), 400),
      (try await withdraw(server, file, by: .shop, at: "now"), 400),
      (try await withdraw(server, file, by: .shop, to: "/2020/06/chain/5/\(alice)"), 404),
    ]
    for (response, status) in wrong { #expect(response.status.code == status) }
    #expect(try await server.get(Self.place).bytes == file)
    let statement = try await withdraw(server, file, by: .shop, at: "2023-11-14T22:18:20Z")
    #expect(statement.status == .ok)
  }

  @Test(arguments: ["time=%@, signature=%@", "time=\"%@\", signature=\"%@\""])
  func aStatementMayBeWrittenWithoutQuotes(_ form: String) async throws {
    let server = try await server()
    let file = try sign()
    #expect(try await send(server, file).status == .created)
    let time = "2023-11-14T22:13:20Z"
    let message = Withdrawal.message(
      url: "https://repo.example" + Self.place, digest: SHA256.hash(file), time: time)
    let signature = try PrivateKey(pem: Signer.shop.key.keyPEM).sign(message: message)
    let statement = Withdrawal(time: time, signature: signature)
    let text = String(
      format: "TokenScript " + form, time, Data(signature).base64EncodedString())
    #expect((statement.fieldValue == text) == form.contains("\""))
    let response = try await server.get(Self.place, ["Authorization": text], method: .delete)
    #expect(response.status == .ok)
  }

  @Test func aWalletsSignatureHas65Bytes() async throws {
    let server = try await server()
    let key = try PrivateKey(pem: Signer.issuer.key.keyPEM)
    for (number, length) in [65, 64].enumerated() {
      let file = try sign(.issuer, at: Self.now + Int64(number))
      #expect(try await send(server, file).status.code < 300)
      let time = "2023-11-14T22:13:20Z"
      let message = Withdrawal.message(
        url: "https://repo.example" + Self.place, digest: SHA256.hash(file), time: time)
      let signature = try key.sign(message: message)
      #expect(signature.count == 65 && [27, 28].contains(signature[64]))
      let statement = Withdrawal(time: time, signature: Array(signature.prefix(length)))
      let field = ["Authorization": statement.fieldValue]
      #expect(try await server.get(Self.place, field, method: .delete).status == .ok)
    }
  }

  @Test func anOlderFileDoesNotComeBackByAWithdrawal() async throws {
    let server = try await server()
    #expect(try await send(server, sign(on: ["1", "5"])).status == .created)
    let newer = try sign(at: Self.now + 5, on: ["1", "5"])
    let other = "/2020/06/chain/5/\(alice)"
    #expect(try await send(server, newer, to: other).status == .ok)
    #expect(
      try await withdraw(
        server, newer, by: .shop, url: "https://repo.example" + other, to: other
      ).status == .ok)
    for path in [Self.place, other] { #expect(try await server.get(path).status == .gone) }
  }

  @Test func theOperatorsFilesAreNobodyElses() async throws {
    let file = try sign()
    try fixture.write("a.tsml", bytes: file)
    let server = try await server()
    #expect(try await withdraw(server, file, by: .shop).status == .notFound)
    #expect(try await server.get(Self.place).bytes == file)
  }
}
