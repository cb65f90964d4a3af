internal import Configuration
internal import FoundationEssentials
internal import HTTPClient
internal import HTTPProtocol
internal import Formats
internal import ServiceKit

/// `awd repo preview`: puts up a file for a day, to be looked at in the viewer and on phones.
struct RepositoryPreviewCommand: Command {
  static let name = "repo preview"
  static let summary = "Put up a TokenScript for a day, under a URL that nobody can guess"
  static let parameters: [CommandParameter] = [
    .option("to", value: "URL", "the repository (required)"), .json,
    .operand("FILE", "the TokenScript, or a project folder of the official tool that is signed"),
  ]

  private struct Answer: Decodable {
    let url: String
    let expires: String
    let warnings: [String]
  }

  static func run(_ context: CommandContext) async throws {
    let arguments = context.arguments
    let repository = try RepositoryExchange.url(arguments)
    let source = try CommandFile(signed: arguments.operands[0])
    let bytes: [UInt8]
    do throws(FileRefusal) { bytes = try source.contents() } catch {
      throw CommandError.refused("\(source.path): \(error.words)".printable)
    }
    let answer = try await RepositoryExchange().send(
      OutgoingRequest(.post, "\(repository)/preview", body: bytes), expecting: .created)
    guard !arguments.has("json") else {
      return context.print(String(decoding: answer.body, as: UTF8.self))
    }
    let preview = try JSONDecoder().decode(Answer.self, from: Data(answer.body))
    context.print("\(preview.url) until \(preview.expires)".printable)
    for warning in preview.warnings { context.print("  warning  \(warning)".printable) }
    if let code = QRCode(preview.url) { context.print(code.text) }
  }
}
