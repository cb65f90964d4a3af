internal import HTTPProtocol
internal import ServiceKit
internal import Threading
internal import Time
internal import TokenScriptReading

/// Responds to `POST /api/v1/verifyXMLDSig`: verifies the file in a form, on a few threads of its own.
struct VerificationResponder: Sendable {
  /// The largest body in bytes: a file of the largest size, with its frame.
  static let bodyLimit = 8 << 20

  private let verification: AtomicReference<FileVerification>
  private let headers: ResponseHeaders
  private let clock: @Sendable () -> Timestamp
  private let threads = ThreadPool(named: "awd-verify", queue: 16)

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
    let verdict = try await threads.run(orRefuseWith: "too many files are being verified") {
      do throws(MultipartError) {
        guard let file = try MultipartForm(contentType: type, body: body)["file"] else {
          return Verdict(failureReason: "the form must have exactly one field “file”")
        }
        do throws(FileRefusal) {
          return Verdict(try verification.verify(Array(file.content), now: now))
        } catch { return Verdict(failureReason: error.words) }
      } catch { return Verdict(failureReason: error.message) }
    }
    var response = try Response(
      verdict.result == "pass" ? .accepted : .badRequest, json: verdict)
    response.fields.append(contentsOf: headers.errors)
    return response
  }

  /// The body of the response; keys without a value are left out.
  private struct Verdict: Encodable {
    let result: String
    var issuer, subject, keyName, keyType, failureReason: String?

    init(_ pass: FileVerification.Pass) {
      result = "pass"
      issuer = pass.issuer
      subject = pass.subject
      keyName = pass.keyName
      keyType = pass.keyType
    }

    init(failureReason: String) {
      result = "fail"
      self.failureReason = failureReason
    }
  }
}
