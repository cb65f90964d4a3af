internal import HTTPProtocol
internal import Routing
internal import Platform
internal import Formats

/// Responds to `POST /api/v1/verifyXMLDSig` and `POST /tokenscript/validate`: verifies the file in the body.
struct VerificationResponder: Sendable {
  /// Finds the repository's files by their URLs.
  let responder: RepositoryResponder
  private let queue = VerificationQueue(named: "awd-verify")

  private var repository: Repository { responder.repository }

  /// Verifies the form's `file`.
  ///
  /// - Parameter request: a request with the form as its body.
  /// - Returns: 202 with the facts about the signer, or 400 with the reason.
  /// - Throws: ``HTTPError`` with status 503 if too many files wait.
  func response(to request: Request) async throws -> Response {
    let type = request.head.value(.contentType) ?? ""
    let (verification, now) = (repository.verification.value, repository.clock())
    let verdict = try await queue.run(for: request) { body in
      Result { () throws(FileRefusal) in
        try verification.verify(Self.file(in: body, ofType: type), now: now)
      }
    }
    switch verdict {
    case .success(let pass): return try repository.headers.json(.accepted, pass)
    case .failure(let refusal):
      return try repository.headers.json(
        .badRequest, ["result": "fail", "failureReason": refusal.words])
    }
  }

  /// Verifies the file in a JSON object, or one of the repository that it names, for its contract.
  ///
  /// - Parameter request: a request with a ``ValidationRequest`` as its body.
  /// - Returns: 200 with a ``ValidationReport``.
  /// - Throws: ``HTTPError`` with status 400, and as ``response(to:)``.
  func validation(of request: Request) async throws -> Response {
    let base = repository.base(for: request)
    let (verification, now) = (repository.verification.value, repository.clock())
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
