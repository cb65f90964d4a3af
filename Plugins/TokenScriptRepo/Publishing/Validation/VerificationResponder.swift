internal import Ethereum
internal import Formats
internal import FoundationEssentials
internal import HTTPProtocol
internal import Platform
internal import Routing

/// Responds to `POST /api/v1/verifyXMLDSig` and `POST /tokenscript/validate`: verifies the file in the body.
struct VerificationResponder: Sendable {
  /// Finds the repository's files by their URLs.
  let responder: RepositoryResponder
  private let queue = VerificationQueue(named: "awd-verify")

  private var repository: Repository { responder.repository }

  /// Verifies the form's `file`.
  ///
  /// - Returns: 202 with the facts about the signer, or 400 with the reason.
  /// - Throws: ``HTTPError`` with status 503 if too many files wait.
  func response(to request: Request) async throws -> Response {
    let type = request.head.value(.contentType) ?? ""
    let verification = repository.verification.value
    let now = repository.clock()
    let result = try await queue.run(for: request) { body in
      Result { () throws(FileRefusal) in
        try verification.verify(Self.file(in: body, ofType: type), now: now)
      }
    }
    switch result {
    case .success(let pass): return try repository.headers.json(.accepted, pass)
    case .failure(let refusal):
      return try repository.headers.json(
        .badRequest, ["result": "fail", "failureReason": refusal.words])
    }
  }

  /// Verifies the file in a JSON object, or one of the repository that it names, for its contract.
  ///
  /// - Returns: 200 with a ``ValidationReport``.
  /// - Throws: ``HTTPError`` with status 400, and as ``response(to:)``.
  func validation(of request: Request) async throws -> Response {
    let base = repository.base(for: request)
    let verification = repository.verification.value
    let now = repository.clock()
    let report = try await queue.run(for: request) { [responder] body in
      let asked = try ValidationRequest(body)
      let file: [UInt8]
      switch asked.source {
      case .bytes(let bytes): file = bytes
      case .url(let url):
        let content = base.flatMap { responder.content(at: url, base: $0) }
        guard let bytes = try content?.load().array else {
          throw HTTPError(.badRequest, "without base64Xml, sourceUrl must be one of script-uri’s")
        }
        file = bytes
      }
      return verification.validate(file, for: asked.contract, on: asked.chain, now: now)
    }
    return try repository.headers.json(.ok, report)
  }

  /// Returns the content of the form's only file.
  private static func file(in body: [UInt8], ofType type: String) throws(FileRefusal) -> [UInt8] {
    let form: MultipartForm
    do { form = try MultipartForm(contentType: type, body: body) } catch {
      throw FileRefusal(reason: error.message)
    }
    guard let file = form["file"] else {
      throw FileRefusal(reason: "the form must have exactly one field “file”")
    }
    return Array(file.content)
  }
}

/// A file and its contract, as wallets send them by JSON; the URL that they name is never fetched.
struct ValidationRequest: Sendable {
  /// The way in which a file is named.
  enum Source: Sendable {
    case bytes([UInt8])
    /// The URL of a file of the repository.
    case url(String)
  }

  /// The contract.
  let contract: EthereumAddress
  /// The contract's chain.
  let chain: ChainID
  /// The whole file, or its URL.
  let source: Source

  private struct Body: Decodable {
    let sourceType: String
    let sourceId: String
    let sourceUrl: String?
    let base64Xml: String?
  }

  /// Reads a request's body.
  ///
  /// - Throws: ``HTTPError`` with status 400.
  init(_ bytes: [UInt8]) throws(HTTPError) {
    guard let body = try? JSONDecoder().decode(Body.self, from: Data(bytes)) else {
      throw HTTPError(.badRequest, "expected an object with sourceType, sourceId and base64Xml")
    }
    guard body.sourceType == "scriptUri" else {
      throw HTTPError(.badRequest, "sourceType: expected scriptUri")
    }
    let parts = body.sourceId.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, let chain = ChainID(parts[0]),
      let contract = EthereumAddress(utf8: parts[1].utf8)
    else { throw HTTPError(.badRequest, "sourceId: expected the chain and the contract, 1-0x…") }
    self.contract = contract
    self.chain = chain
    guard let base64 = body.base64Xml else {
      source = .url(body.sourceUrl ?? "")
      return
    }
    // Wallets break the text into lines.
    let signs = base64.utf8.filter { $0 != 0x20 && !(0x09...0x0d).contains($0) }
    guard let file = Data(base64Encoded: Data(signs)), !file.isEmpty else {
      throw HTTPError(.badRequest, "base64Xml: expected a file in Base64")
    }
    source = .bytes([UInt8](file))
  }
}
