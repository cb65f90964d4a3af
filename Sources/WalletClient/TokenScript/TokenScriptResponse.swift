internal import HTTPClient
public import HTTPProtocol

/// A repository's response, as far as a wallet cares.
public enum TokenScriptResponse: Sendable, Equatable {
  /// 200: a file, with its `Last-Modified` if that can be read.
  case file(lastModified: HTTPDate?)
  /// 304: the file that the wallet has will do; with the date of the repository's, if that is stated.
  case notModified(lastModified: HTTPDate?)
  /// 300: the files of several signers.
  case choices([TokenScriptChoice])
  /// 204: there are files, and none in a version that the wallet reads.
  case unreadable
  /// 404, or 410: there is no file, or none any more.
  case absent(isGone: Bool)
  /// Anything else, in words.
  case failure(String)

  /// Reads a response.
  ///
  /// - Parameters:
  ///   - response: the response.
  ///   - now: the wallet's clock, for dates with a year of two digits.
  init(_ response: IncomingResponse, now: HTTPDate) {
    let lastModified = response.fields.first(.lastModified)
      .flatMap { HTTPDate(Array($0.utf8)[...], now: now) }
    switch response.status {
    case .ok: self = .file(lastModified: lastModified)
    case .notModified: self = .notModified(lastModified: lastModified)
    case .multipleChoices:
      let choices = TokenScriptChoice.list(of: response)
      self =
        choices.isEmpty
        ? .failure("several files to choose from, but no list of them (300)") : .choices(choices)
    case .noContent: self = .unreadable
    case .notFound: self = .absent(isGone: false)
    case .gone: self = .absent(isGone: true)
    default:
      let code = response.status.code
      let words =
        switch code {
        case 200..<300: "a response without a file"
        case 300..<400: "a redirect, which is not followed"
        case 429: "too many requests, ask again later"
        case 500...: "the server failed, ask again later"
        default: "the server refused the request"
        }
      self = .failure("\(words) (\(code))")
    }
  }
}
