internal import HTTPProtocol
internal import Routing

extension PublicationRefusal {
  /// The status of the response.
  private var status: Status {
    switch cause {
    case .invalid: .badRequest
    case .notAuthorized: .forbidden
    case .superseded: .conflict
    case .withdrawn: .gone
    case .tooMany: .tooManyRequests
    case .noRoom: .insufficientStorage
    case .unavailable: .serviceUnavailable
    }
  }

  /// The response, in JSON whatever the client accepts.
  func response(_ headers: ResponseHeaders) throws -> Response {
    let body: JSONObject = ["error": reason, "signer": signer, "known": known]
    var response = try headers.json(status, body.withoutNulls)
    if let retryAfter { response.fields.append(.retryAfter, "\(retryAfter)") }
    return response
  }
}
