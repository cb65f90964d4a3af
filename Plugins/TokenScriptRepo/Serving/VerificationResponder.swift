internal import HTTPProtocol
internal import ServiceKit
internal import Threading
internal import Time
internal import TokenScriptReading

/// Responds to `POST /api/v1/verifyXMLDSig`: verifies the file in a form, on a few threads of its own that give way to others.
struct VerificationResponder: Sendable {
  /// The largest body in bytes: a file of the largest size, with its frame.
  static let bodyLimit = 8 << 20

  private static let busy = "too many files are being verified"

  private let verification: AtomicReference<FileVerification>
  private let headers: ResponseHeaders
  private let clock: @Sendable () -> Timestamp
  private let threads = ThreadPool(
    named: "awd-verify", width: ThreadPool.processorCount - 1, queue: 16, niceness: 10)

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
    let body = request.body
    let now = clock()
    let verification = verification.value
    let verdict = try await threads.run(for: request.origin.client, orRefuseWith: Self.busy) {
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

  /// Returns the content of the form's only file.
  private static func file(
    in body: [UInt8], ofType type: String
  ) throws(FileRefusal) -> [UInt8] {
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
