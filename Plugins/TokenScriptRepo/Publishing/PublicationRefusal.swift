/// The reason why a file isn't published or withdrawn, or no preview is put up.
struct PublicationRefusal: Error, Equatable {
  /// The kinds of reasons.
  enum Cause: Sendable {
    /// The file can't be published as it is, whoever sends it.
    case invalid
    /// The signer doesn't stand for the contract.
    case notAuthorized
    /// Other files have come meanwhile.
    case superseded
    /// The signer has withdrawn the same file.
    case withdrawn
    /// The client has sent too many requests.
    case tooMany
    /// There is no room, or the client or the signer has used its own.
    case noRoom
    /// The store can't be written to.
    case unavailable
  }

  /// The kind of the reason.
  let cause: Cause
  /// The reason in words that anybody may see.
  var reason: String
  /// The key identifier of the file's signer, if that is the reason.
  var signer: String?
  /// The key identifiers that stand for the contract, if the signer's doesn't.
  var known: [String]?
  /// The number of seconds after which the same request may succeed.
  var retryAfter: Int?

  /// Makes a refusal.
  init(_ cause: Cause, _ reason: String, signer: String? = nil, known: [String]? = nil) {
    self.cause = cause
    self.reason = reason
    self.signer = signer
    self.known = known
  }

  /// Makes the refusal for a network with too many requests.
  ///
  /// - Parameters:
  ///   - seconds: the seconds to wait.
  init(tooMany things: String, retryAfter seconds: Int) {
    self.init(.tooMany, "too many \(things)")
    retryAfter = seconds
  }
}
