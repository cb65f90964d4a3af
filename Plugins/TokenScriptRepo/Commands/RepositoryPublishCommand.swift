internal import Configuration
internal import Ethereum
internal import FoundationEssentials
internal import HTTPClient
internal import HTTPProtocol
internal import ServiceKit
internal import Platform
internal import XMLSecurity

/// `awd repo publish`: sends a signed file to a repository.
struct RepositoryPublishCommand: Command {
  static let name = "repo publish"
  static let summary = "Publish a signed TokenScript at a repository that takes files over HTTP"
  static let parameters: [CommandParameter] = [
    .option("to", value: "URL", "the repository (required)"),
    .option("chain", value: "ID", "the chain in the URL; by default the first that the file names"),
    .json, .operand("FILE", "the TokenScript, signed, or a project folder of the official tool"),
  ]

  static func run(_ context: CommandContext) async throws {
    let arguments = context.arguments
    let repository = try RepositoryExchange.url(arguments)
    let chain = try arguments.chain("chain")
    let source = try CommandFile(signed: arguments.operands[0])
    let path = source.path
    let bytes: [UInt8]
    let file: TokenScriptFile
    do throws(FileRefusal) {
      bytes = try source.contents()
      var reader = TokenScriptReader()
      reader.verifier = SignatureVerifier()
      file = try reader.read(bytes, now: .now())
      if case .failed(let refusal) = file.signature { throw refusal }
    } catch {
      let advice = error.advice(at: path)
      let steps = advice.isEmpty ? ["sign it with awd repo sign"] : advice
      throw CommandError.refused(
        "\(path): \(error.words); \(steps.joined(separator: "; "))".printable)
    }
    guard let contract = file.origins.first, let first = file.originChains[contract]?.first else {
      throw CommandError.refused("\(path): it names no contract as its origin".printable)
    }
    let url = "\(repository)/\(file.schema)/chain/\(chain ?? first)/\(contract.checksummed)"
    let answer = try await RepositoryExchange().send(
      OutgoingRequest(.put, url, body: bytes), expecting: .ok, .created)
    if arguments.has("json") {
      context.print(String(decoding: answer.body, as: UTF8.self))
    } else {
      let row = try JSONDecoder().decode(Row.self, from: Data(answer.body))
      context.print("\(url): \(row.state)".printable)
      for warning in row.warnings { context.print("  warning  \(warning)".printable) }
      if file.signer?.time == nil {
        context.print(
          "  hint     sign it with a time, as awd repo sign does, so that no server takes it")
        context.print("           for new again once it is old")
      }
    }
  }

  private struct Row: Decodable {
    let state: String
    let warnings: [String]
  }
}
