internal import Cryptography
internal import HTTPClient
internal import HTTPProtocol
internal import ServiceKit
internal import Platform
internal import XMLSecurity

/// `awd repo withdraw`: withdraws a published file by a signed statement.
struct RepositoryWithdrawCommand: Command {
  static let name = "repo withdraw"
  static let summary = "Withdraw a TokenScript that was published over HTTP"
  static let parameters: [CommandParameter] = [
    .option(
      "key", value: "KEY",
      "the private key that signed the file, in PEM or 64 hexadecimal digits (required)"),
    .operand("URL", "the file's URL, such as https://repo.example/2020/06/chain/1/0x…"),
  ]

  static func run(_ context: CommandContext) async throws {
    let url = context.arguments.operands[0]
    let path = try context.arguments.required("key", "KEY")
    let key = try CommandFile(path).privateKey()
    let exchange = try RepositoryExchange()
    let signer = PercentEncoding.encode(key.publicKey.identifier)
    let file = try await exchange.send(
      OutgoingRequest(.get, "\(url)?signer=\(signer)"), expecting: .ok, as: url,
      remark: "; \(path) has no file there")
    guard let time = Timestamp.now().dateTime else {
      throw CommandError.refused("the clock is out of range")
    }
    let message = Withdrawal.message(url: url, digest: SHA256.hash(file.body), time: time)
    let withdrawal = Withdrawal(time: time, signature: try key.sign(message: message))
    var request = OutgoingRequest(.delete, url)
    request.fields.append(.authorization, withdrawal.fieldValue)
    _ = try await exchange.send(request, expecting: .ok)
    context.print("\(url): withdrawn".printable)
  }
}
