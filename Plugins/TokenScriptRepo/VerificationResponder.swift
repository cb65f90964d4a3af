internal import HTTPProtocol
internal import Observability
internal import ServiceKit
internal import Time

/// Answers `POST /api/v1/verifyXMLDSig`, by which old wallets have a file verified.
struct VerificationResponder: Sendable {
  /// The longest body in bytes: a file may have as many.
  static let bodyLimit = 8 << 20

  /// The checks of this moment.
  let verification: Published<FileVerification>
  /// The fields of every answer.
  let fields: AnswerFields
  /// Tells the time.
  let clock: @Sendable () -> Timestamp

  private let queue = WorkQueue(
    width: WorkerThreads.cores, room: 16, excuse: "too many files are being verified")

  /// A responder with an empty queue.
  ///
  /// - Parameters:
  ///   - verification: the checks of this moment.
  ///   - fields: the fields of every answer.
  ///   - clock: tells the time.
  init(
    _ verification: Published<FileVerification>, _ fields: AnswerFields,
    clock: @escaping @Sendable () -> Timestamp
  ) {
    self.verification = verification
    self.fields = fields
    self.clock = clock
  }

  /// Verifies the form's `file`.
  ///
  /// - Parameter request: with the form as its body.
  /// - Returns: 202 with what is told of the signer, or 400 with the reason.
  /// - Throws: ``HTTPError``, 503, where too many are waiting.
  func response(to request: Request) async throws -> Response {
    let type = request.head.value(.contentType) ?? ""
    let body = request.body
    let now = clock().seconds
    let verification = verification.value
    let answer = try await queue.run { () -> Answer in
      do throws(MultipartError) {
        guard let file = try MultipartForm(contentType: type, body: body)["file"] else {
          return Answer(failureReason: "the form must have exactly one field “file”")
        }
        do throws(Refusal) {
          return Answer(try verification.verify(Array(file.content), now: now))
        } catch { return Answer(failureReason: error.words) }
      } catch { return Answer(failureReason: error.message) }
    }
    var response = try Response(answer.result == "pass" ? .accepted : .badRequest, json: answer)
    response.fields.append(contentsOf: fields.errors)
    return response
  }

  /// The body; keys without a value are left out.
  private struct Answer: Encodable {
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
