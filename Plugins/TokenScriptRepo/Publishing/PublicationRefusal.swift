internal import HTTPProtocol
internal import Routing

/// The reason why a file is not published.
struct PublicationRefusal: Error, Equatable {
  /// The status of the response.
  let status: Status
  /// The reason in words that anybody may see.
  var reason: String
  /// The key identifier of the file's signer, if that is the reason.
  var signer: String?
  /// The key identifiers that stand for the contract, if the signer's doesn't.
  var known: [String]?
  /// The number of seconds after which the same request may succeed.
  var retryAfter: Int?

  /// Makes a refusal.
  init(_ status: Status, _ reason: String, signer: String? = nil, known: [String]? = nil) {
    self.status = status
    self.reason = reason
    self.signer = signer
    self.known = known
  }

  /// Makes the refusal of a network that asks too often.
  ///
  /// - Parameters:
  ///   - seconds: the seconds to wait.
  init(tooMany things: String, retryAfter seconds: Int) {
    self.init(.tooManyRequests, "too many \(things)")
    retryAfter = seconds
  }

  /// The response, in JSON whatever the client accepts.
  func response(_ headers: ResponseHeaders) throws -> Response {
    let body: JSONObject = ["error": reason, "signer": signer, "known": known]
    var response = try headers.json(status, body.withoutNulls)
    if let retryAfter { response.fields.append(.retryAfter, "\(retryAfter)") }
    return response
  }
}
