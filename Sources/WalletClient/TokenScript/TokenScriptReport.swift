public import HTTPProtocol

internal import HTTPClient

/// The result of asking a repository for a TokenScript.
public struct TokenScriptReport: Sendable, Equatable {
  /// One response of the repository or of a place that the contract names, or a failure to give one.
  public struct Attempt: Sendable, Equatable {
    /// The requested namespace, or nil if the repository chose.
    public let namespace: TokenScriptNamespace?
    /// The result in a few words; it may quote the file.
    public let result: String
    /// The reason for which the received file was rejected, or nil for another result.
    public let rejection: TokenScriptRejection?
    /// The contract's own URI that was requested, or couldn't be; nil for the repository.
    public internal(set) var uri: String?
  }

  /// The end of an exchange.
  public enum Outcome: Sendable, Equatable {
    /// A verified file is in the cache now, in place of an older one if `isUpdate`.
    case stored(SignedTokenScript, modified: HTTPDate, isUpdate: Bool)
    /// The repository has nothing newer than the local file.
    case unchanged
    /// The local file is newer than the repository's, which is of the date given: it is an author's own, for a test,
    /// and stays.
    case ownFile(repository: HTTPDate)
    /// Several signers have published a file: the user must choose one, and ask for it by
    /// ``TokenScriptRequest/signer``.
    case choices([TokenScriptChoice])
    /// The repository has files, and none in a version that it knows the wallet to read; a local file stays.
    case unreadable
    /// The repository has no file; it had one if `isGone`.
    case absent(isGone: Bool)
    /// The repository's files are all rejected, for reasons that the attempts state.
    case invalid
    /// The repository gave no useful response, for a reason in words.
    case failed(String)
  }

  /// The end of the exchange.
  public let outcome: Outcome
  /// Every attempt, in order.
  public internal(set) var attempts: [Attempt]
  /// True if a file lies in the cache now, new or old.
  public let hasFile: Bool
  /// The file's path, whether there is a file or not.
  public var path = ""
  /// The contract's own URI that the file came from, or nil for the repository.
  public internal(set) var source: String?
  /// The proof that the file is the one that the contract names, or nil unless it came from ``source``.
  public internal(set) var proof: Proof?

  /// A proof that a file is the one that a contract names (ERC-5169).
  public enum Proof: String, Sendable {
    /// The URI has the digest of the file's bytes: its CID.
    case digest = "cid"
    /// The signature holds, whoever has signed; the location may give another file tomorrow.
    case signature
  }
}

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
        case 429: "too many requests; try again later"
        case 500...: "the server failed; try again later"
        default: "the server refused the request"
        }
      self = .failure("\(words) (\(code))")
    }
  }
}
