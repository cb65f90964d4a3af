internal import Configuration
internal import Cryptography
internal import Ethereum
internal import Formats
internal import FoundationEssentials
internal import HTTPClient
internal import HTTPProtocol
internal import Platform
internal import ServiceKit
internal import XMLSecurity

/// `awd repo publish`: sends a signed file to a repository.
struct RepositoryPublishCommand: Command {
  static let name = "repo publish"
  static let summary = "Publish a signed TokenScript at a repository that accepts files over HTTP"
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
    if let doubt = source.doubt { context.warn("warning: \(doubt)".printable) }
    let path = source.path
    let bytes: [UInt8]
    let file: TokenScriptFile
    do throws(FileRefusal) {
      bytes = try source.contents()
      var reader = TokenScriptReader()
      reader.verifier = SignatureVerifier()
      file = try reader.read(bytes, now: .now())
      if file.isUnbuilt { throw FileRefusal(reason: FileRefusal.unbuilt) }
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
          "  hint     sign it with a time, as awd repo sign does, so that no server accepts it")
        context.print("           again once it is old")
      }
    }
  }

  private struct Row: Decodable {
    let state: String
    let warnings: [String]
  }
}

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
    let url = Self.place(of: context.arguments.operands[0])
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

  /// Returns the URL at which a file is withdrawn, which has no query: the chain stands in its path.
  ///
  /// - Parameter url: any URL of the file's that the repository gives out, such as `…/0x….tsml?chain=1&signer=KEY#x`.
  static func place(of url: String) -> String {
    let parts = url.prefix { $0 != "#" }.split(
      separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    var segments = parts[0].split(separator: "/", omittingEmptySubsequences: false)
    guard var contract = segments.popLast() else { return url }
    if contract.hasSuffix(".tsml") { contract = contract.dropLast(".tsml".count) }
    let query = parts.count > 1 ? parts[1].split(separator: "&") : []
    let chain = query.first { $0.hasPrefix("chain=") }?.dropFirst("chain=".count)
    if let chain, !segments.contains("chain") { segments += ["chain", chain] }
    return (segments + [contract]).joined(separator: "/")
  }
}

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
    if let doubt = source.doubt { context.warn("warning: \(doubt)".printable) }
    let bytes: [UInt8]
    do throws(FileRefusal) {
      bytes = try source.contents()
      let file = try TokenScriptReader().read(bytes, now: .now())
      if file.isUnbuilt { throw FileRefusal(reason: FileRefusal.unbuilt) }
    } catch {
      let advice = error.advice(at: source.path).map { "; \($0)" }.joined()
      throw CommandError.refused("\(source.path): \(error.words)\(advice)".printable)
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

/// The requests of commands to a repository.
struct RepositoryExchange {
  private let client: WebClient

  /// Makes connections of its own.
  ///
  /// - Throws: ``CommandError`` if there is no room for them.
  init() throws(CommandError) {
    var options = HTTPClientOptions()
    options.bodyLimit = VerificationQueue.bodyLimit
    do throws(HTTPClientError) { client = try WebClient(options) } catch {
      throw .refused("\(error)")
    }
  }

  /// Returns the repository that the option `--to` names.
  ///
  /// - Throws: ``CommandError`` without it, or for another text.
  static func url(_ arguments: CommandArguments) throws(CommandError) -> PublicURL {
    guard let url = try arguments.url("to", such: "https://repo.example") else {
      throw .usage("--to URL is missing")
    }
    return url
  }

  /// Sends a request that accepts JSON.
  ///
  /// - Parameters:
  ///   - url: the URL in errors, or nil for the request's.
  /// - Throws: ``CommandError`` if there is no response, or one with another status.
  func send(
    _ request: OutgoingRequest, expecting expected: Status..., as url: String? = nil,
    remark: String = ""
  ) async throws(CommandError) -> IncomingResponse {
    var request = request
    request.fields.append(.accept, "application/json")
    let response: IncomingResponse
    do throws(HTTPClientError) { response = try await client.send(request) } catch {
      throw .refused("\(request.url): \(error)".printable)
    }
    guard expected.contains(response.status) else {
      let meaning = Self.meaning(of: response.status, to: request.method)
      throw .refused(
        "\(url ?? request.url): \(Self.words(response))\(meaning)\(remark)".printable)
    }
    return response
  }

  /// Returns the status of a response, and its reason if it states one.
  private static func words(_ response: IncomingResponse) -> String {
    let body = try? JSONDecoder().decode(Refusal.self, from: Data(response.body))
    let known = body?.known.map {
      $0.isEmpty ? "; nobody does yet" : "; these do: \($0.joined(separator: ", "))"
    }
    return "\(response.status.code) \(response.status.reason)"
      + (body.map { ": \($0.error)" } ?? "") + (known ?? "")
  }

  /// Says what a status means that other web servers give as well, and a repository whose operator hasn't allowed the request.
  private static func meaning(of status: Status, to method: HTTPProtocol.Method) -> String {
    let isNone = "the URL is no repository's, or its operator hasn't allowed it by policy in"
    return switch (method, status) {
    case (.put, .methodNotAllowed), (.delete, .methodNotAllowed):
      "; nothing can be published or withdrawn there: \(isNone) [tokenscript.publish]"
    case (.post, .notFound): "; nothing can be previewed there: \(isNone) [tokenscript.preview]"
    default: ""
    }
  }

  private struct Refusal: Decodable {
    let error: String
    let known: [String]?
  }
}
