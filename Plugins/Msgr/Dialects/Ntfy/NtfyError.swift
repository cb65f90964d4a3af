internal import Formats
internal import HTTPProtocol
internal import HTTPServer
internal import Storage

/// A failure in the form of ntfy's clients: a code of five digits, whose first three are the status.
struct NtfyError: Error, Hashable, Sendable {
  let code: Int
  let text: String
  var retryAfter: Int?

  var status: Status { Status(UInt16(clamping: code / 100)) }

  static let badSince = NtfyError(code: 40008, text: "invalid since parameter")
  static let badTopic = NtfyError(code: 40009, text: "invalid topic name")
  static let reservedTopic = NtfyError(code: 40010, text: "topic name is reserved")
  static let noFiles = NtfyError(code: 40014, text: "attachments are not kept here")
  static let noWebSocket = NtfyError(code: 40016, text: "a WebSocket handshake is expected here")
  static let badJSON = NtfyError(
    code: 40024, text: "the body is no JSON object, or has too large a number")
  static let badRequest = NtfyError(code: 40000, text: "invalid request")
  static let unauthorized = NtfyError(code: 40101, text: "unauthorized")
  static let forbidden = NtfyError(code: 40301, text: "forbidden")
  static let notFound = NtfyError(code: 40401, text: "page not found")
  static let reservedPath = NtfyError(
    code: 40401, text: "page not found: this name is reserved, so choose another one for a topic")
  static let badMethod = NtfyError(code: 40501, text: "method not allowed")
  static let tooLarge = NtfyError(code: 41301, text: "the body or attachment is too large")
  static let noSubscriber = NtfyError(
    code: 50701, text: "nobody has subscribed to this topic yet")

  /// The error as JSON: no member besides, as some clients take these only.
  var json: [UInt8] {
    JSONValue.object([
      "code": .integer(code), "http": .integer(code / 100), "error": .text(text),
    ]).bytes
  }

  /// The response.
  var response: Response {
    var response = Response(status, body: .array(json))
    response.fields.append(.contentType, "application/json")
    if let retryAfter { response.fields.append(.retryAfter, "\(retryAfter)") }
    return response
  }
}

extension NtfyError {
  /// Returns the failure as a program gets it: one that gives a message up at 429 gets 503.
  func answering(_ head: RequestHead) -> NtfyError {
    guard code == 42901, MsgrRoutes.givesUpTooSoon(head) else { return self }
    return NtfyError(code: 50301, text: text, retryAfter: retryAfter)
  }

  /// Makes the error of a refusal; nil for an error that is no client's.
  init?(refusing error: any Error) {
    switch error {
    case let error as NtfyError: self = error
    case let refusal as TopicRefusal: self.init(refusal)
    case let refusal as RequestRefusal: self.init(refusal)
    case is RequestBody.Interrupted: self = .badRequest
    case let fault as FieldError: self.init(code: 40000, text: fault.sentence)
    case let error as StoreError where error.isUnavailable:
      self.init(code: 50301, text: "the store can't be reached now", retryAfter: 1)
    default: return nil
    }
  }

  private init(_ refusal: TopicRefusal) {
    switch refusal {
    case .forbidden: self = .forbidden
    case .unauthorized: self = .unauthorized
    case .tooManyFailures(let seconds):
      self.init(code: 42909, text: "limit reached: too many failed logins", retryAfter: seconds)
    case .tooManyRequests(let seconds):
      self.init(code: 42901, text: "limit reached: too many requests", retryAfter: seconds)
    case .tooManyStreams(let seconds):
      self.init(code: 42903, text: "limit reached: too many open streams", retryAfter: seconds)
    case .tooManyTopics:
      self.init(code: 42904, text: "limit reached: too many topics", retryAfter: 3600)
    case .tooManyWaiting:
      self.init(code: 42901, text: "limit reached: too many delayed messages", retryAfter: 60)
    case .tooManySubscribers:
      self.init(code: 42904, text: "limit reached: too many subscribers", retryAfter: 3600)
    case .tooManyNamed:
      self.init(code: 42904, text: "limit reached: too many named users", retryAfter: 3600)
    case .tooManyUploads:
      self.init(code: 42901, text: "limit reached: too many uploads in progress", retryAfter: 10)
    case .bandwidth(let seconds):
      self.init(code: 42905, text: "limit reached: too many bytes of files", retryAfter: seconds)
    case .tooLarge: self = .tooLarge
    case .noFiles: self = .noFiles
    case .noSubscriber: self = .noSubscriber
    case .busy: self.init(code: 50301, text: "the server is busy", retryAfter: 1)
    }
  }

  private init?(_ refusal: RequestRefusal) {
    switch refusal {
    case .forbidden, .denied: self = .forbidden
    case .tooMany(let seconds):
      self.init(code: 42901, text: "limit reached: too many requests", retryAfter: seconds)
    case .busy: self.init(code: 50301, text: "the server is busy", retryAfter: 1)
    case .tooManyContacts:
      self.init(code: 40301, text: "the account has as many of these as it may have")
    default: return nil
    }
  }
}

extension NtfyError {
  /// Makes the error of a request that no handler gets.
  init(answering error: HTTPError) {
    if let text = error.members["code"], let code = Int(text) {
      self.init(code: code, text: error.message)
      return
    }
    switch error.status {
    case .upgradeRequired: self = .noWebSocket
    case .contentTooLarge: self = .tooLarge
    case .notFound: self = .notFound
    case .methodNotAllowed: self = .badMethod
    case let status: self.init(code: Int(status.code) * 100 + 1, text: error.message)
    }
  }
}
