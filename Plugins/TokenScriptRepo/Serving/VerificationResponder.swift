internal import HTTPProtocol
internal import Routing
internal import Threading
internal import Time
internal import TokenScriptReading
internal import Wire

/// Responds to `POST /api/v1/verifyXMLDSig` and `POST /tokenscript/validate`: verifies the file in the body.
struct VerificationResponder: Sendable {
  private let verification: AtomicReference<FileVerification>
  private let headers: ResponseHeaders
  private let clock: @Sendable () -> Timestamp
  /// The queue of the requests' bodies.
  let queue = VerificationQueue(named: "awd-verify")

  /// Makes a responder.
  ///
  /// - Parameters:
  ///   - verification: the checks in service.
  ///   - headers: the header fields of responses.
  ///   - clock: tells the time.
  init(
    _ verification: AtomicReference<FileVerification>, _ headers: ResponseHeaders,
    clock: @escaping @Sendable () -> Timestamp
  ) {
    self.verification = verification
    self.headers = headers
    self.clock = clock
  }

  /// Verifies the form's `file`.
  ///
  /// - Parameter request: a request with the form as its body.
  /// - Returns: 202 with the facts about the signer, or 400 with the reason.
  /// - Throws: ``HTTPError`` with status 503 if too many files wait.
  func response(to request: Request) async throws -> Response {
    let type = request.head.value(.contentType) ?? ""
    let verification = verification.value
    let now = clock()
    let verdict = try await queue.run(for: request) { body in
      Result { () throws(FileRefusal) in
        try verification.verify(Self.file(in: body, ofType: type), now: now)
      }
    }
    var response =
      switch verdict {
      case .success(let pass): try Response(.accepted, json: pass)
      case .failure(let refusal):
        try Response(.badRequest, json: ["result": "fail", "failureReason": refusal.words])
      }
    response.fields.append(contentsOf: headers.errors)
    return response
  }

  /// Verifies the file in a JSON object, or one of the repository that it names, for its contract.
  ///
  /// - Parameters:
  ///   - request: a request with a ``ValidationRequest`` as its body.
  ///   - content: returns the repository's file at a URL, or nil if it has none there.
  /// - Returns: 200 with a ``ValidationReport``.
  /// - Throws: ``HTTPError`` with status 400, and as ``response(to:)``.
  func validation(
    of request: Request, contentAt content: @escaping @Sendable (String) -> Content?
  ) async throws -> Response {
    let verification = verification.value
    let now = clock()
    let report = try await queue.run(for: request) { body in
      let asked = try ValidationRequest(body)
      let file: [UInt8]
      switch asked.source {
      case .bytes(let bytes): file = bytes
      case .url(let url):
        guard let bytes = try content(url)?.load().array else {
          throw HTTPError(.badRequest, "without base64Xml, sourceUrl must be one of script-uri’s")
        }
        file = bytes
      }
      return verification.validate(file, for: asked.contract, on: asked.chain, now: now)
    }
    var response = try Response(.ok, json: report)
    response.fields.append(contentsOf: headers.errors)
    return response
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
