public import HTTPProtocol

internal import Formats
internal import Platform

/// A wallet's decisions on a repository's responses, without input or output.
///
/// Make one for each contract, carry out the action that ``start()`` returns, and hand back the result until the action
/// is ``Action/finish(_:)``. ``TokenScriptAgent`` does so over HTTP and files; a wallet that has its own of both can do
/// the same.
///
/// - The namespaces are asked in order. The next one is asked if the repository has no file (404, 410) or its file is
///   rejected. After a rejected update no namespace is asked that the wallet prefers less than the local file's, which
///   is good.
/// - A request is conditional if the local file is in the namespace asked for, or in none. The time of a file in
///   another namespace says nothing about this one: files of one age are common, and the wallet would never come to a
///   namespace that it has just learned.
/// - A file that was downloaded at another location than the one that is asked now, or in another version, has a time that
///   says nothing: it is neither sent nor compared. So a file of a preferred version is taken whatever the times.
/// - A local file that is newer than the repository's is its author's own, and stays, whatever its namespace: an author
///   couldn't download it again.
/// - If a certain signer's file is asked for, it replaces another signer's of any age.
/// - Any other response ends the exchange, and the local file stays.
public struct TokenScriptExchange: Sendable {
  /// The file in the cache.
  public struct LocalFile: Sendable, Equatable {
    /// The time of the last modification; for a download, the repository's `Last-Modified`.
    public let modified: HTTPDate
    /// The file's namespace, or nil if it is no TokenScript.
    public let namespace: TokenScriptNamespace?
    /// True if the file is signed by another signer than the user asks for now; then its time says nothing.
    public let isOtherSigners: Bool
    /// The way by which the file came into the cache.
    public var provenance: Provenance

    /// A way by which a file comes into the cache.
    public enum Provenance: Sendable, Equatable {
      /// Its author has put it there, or has changed it since it was downloaded; or nobody knows.
      case own
      /// It was downloaded at the location that is asked now.
      case downloaded
      /// It was downloaded at another location.
      case downloadedElsewhere
    }

    /// Makes the description of a local file.
    ///
    /// - Parameters:
    ///   - modified: the file's time, in UTC.
    ///   - namespace: the root element's namespace, or nil if that is none of TokenScript's.
    ///   - isOtherSigners: whether a certain signer's file is asked for, and this one holds another's
    ///     signature.
    ///   - provenance: the way by which the file came into the cache.
    public init(
      modified: HTTPDate, namespace: TokenScriptNamespace?, isOtherSigners: Bool = false,
      provenance: Provenance = .own
    ) {
      self.modified = modified
      self.namespace = namespace
      self.isOtherSigners = isOtherSigners
      self.provenance = provenance
    }
  }

  /// An action that the caller carries out.
  public enum Action: Sendable, Equatable {
    /// Request the file in a namespace, or in one that the repository chooses if there is none, with
    /// `If-Modified-Since` if there is a date. Go on with ``TokenScriptExchange/received(_:)``.
    case request(TokenScriptNamespace?, modifiedSince: HTTPDate?)
    /// Inspect the file that was received. Go on with ``TokenScriptExchange/inspected(_:)``.
    case inspect(TokenScriptNamespace?)
    /// Put the file that was received into the cache, give it this time, and finish.
    case store(modified: HTTPDate, TokenScriptReport)
    /// Finish, and drop a file that was received and was not to be stored.
    case finish(TokenScriptReport)
  }

  private let namespaces: [TokenScriptNamespace?]
  private let local: LocalFile?
  private let now: HTTPDate
  private var position = 0
  private var lastModified: HTTPDate?
  private var attempts: [TokenScriptReport.Attempt] = []
  private var hasGone = false

  /// Makes an exchange.
  ///
  /// - Parameters:
  ///   - namespaces: the namespaces to ask for, in order; if there are none, the repository chooses.
  ///   - local: the file in the cache, or nil if there is none.
  ///   - now: the wallet's clock.
  public init(namespaces: [TokenScriptNamespace], local: LocalFile?, now: HTTPDate) {
    self.namespaces = namespaces.isEmpty ? [nil] : namespaces
    self.local = local
    self.now = now
  }

  /// Returns the first action.
  public func start() -> Action { nextRequest() }

  /// Decides on a response.
  ///
  /// - Parameter response: the repository's response to the last ``Action/ask(_:modifiedSince:)``.
  /// - Returns: the next action.
  public mutating func received(_ response: TokenScriptResponse) -> Action {
    switch response {
    case .file(let lastModified):
      self.lastModified = lastModified
      if let end = compare(lastModified, version: namespaces[position]) { return end }
      return .inspect(namespaces[position])
    case .notModified(let lastModified):
      guard isConditional else { return fail("not modified, though nothing was asked about (304)") }
      if let end = compare(lastModified, version: local?.namespace) { return end }
      return finish(.unchanged, "not modified")
    case .choices(let choices): return finish(.choices(choices), "several signers' files")
    case .unreadable: return finish(.unreadable, "no version that this wallet reads")
    case .absent(let isGone):
      hasGone = hasGone || isGone
      return goOn(to: namespaces.count, after: isGone ? "gone" : "not found")
    case .failure(let reason): return fail(reason)
    }
  }

  /// Decides on a file.
  ///
  /// - Parameters:
  ///   - result: the result of inspecting the file that was received last.
  ///   - remark: more about a rejection, for people.
  /// - Returns: the next action.
  public mutating func inspected(
    _ result: Result<SignedTokenScript, TokenScriptRejection>, remark: String = ""
  ) -> Action {
    switch result {
    case .success(let script):
      // Last-Modified ought to be the time of the signature. Without either the file counts as old, so that any later
      // one is newer.
      let signed = script.signingTime.map { HTTPDate($0.seconds) }
      let wasCompared = lastModified != nil && isVersionKnown
      if !wasCompared, let end = compare(lastModified ?? signed, version: script.namespace) {
        return end
      }
      let modified = min(max(lastModified ?? signed ?? HTTPDate(0), HTTPDate(0)), now)
      record("accepted")
      let outcome = TokenScriptReport.Outcome.stored(
        script, modified: modified, isUpdate: local != nil)
      return .store(
        modified: modified,
        TokenScriptReport(outcome: outcome, attempts: attempts, hasFile: true))
    case .failure(let rejection):
      var end = namespaces.count
      if let mine = local?.namespace, let rank = namespaces.firstIndex(of: mine) { end = rank + 1 }
      return goOn(to: end, after: "rejected: \(rejection)\(remark)", rejection)
    }
  }

  /// True if a response's time can be compared before its file is inspected.
  private var isVersionKnown: Bool { local?.provenance == .own || namespaces[position] != nil }

  /// True if the local file may be what the repository is asked for.
  private var isConditional: Bool {
    guard let local, !local.isOtherSigners, local.provenance != .downloadedElsewhere else {
      return false
    }
    guard let wanted = namespaces[position], let found = local.namespace else { return true }
    return wanted == found
  }

  private func nextRequest() -> Action {
    // A date in the future would mean nothing to the repository.
    let date = isConditional ? local.map { min($0.modified, now) } : nil
    return .request(namespaces[position], modifiedSince: date)
  }

  /// Compares the repository's file with the local one.
  ///
  /// - Parameters:
  ///   - date: its time, if that is known.
  ///   - version: its version, or nil if that isn't known yet.
  /// - Returns: the end of the exchange, or nil if the repository's file is wanted instead.
  private mutating func compare(
    _ date: HTTPDate?, version: TokenScriptNamespace?
  ) -> Action? {
    guard let local, !local.isOtherSigners, let date, isComparable(local, version) else {
      return nil
    }
    let isOtherDownload = local.provenance == .downloaded && version != local.namespace
    if date < local.modified || isOtherDownload && date == local.modified {
      return finish(.ownFile(repository: date), "older than the local file")
    }
    return date == local.modified && isConditional ? finish(.unchanged, "not modified") : nil
  }

  /// Returns whether the time of the local file says anything about a file in a version.
  private func isComparable(_ local: LocalFile, _ version: TokenScriptNamespace?) -> Bool {
    switch local.provenance {
    case .own: return true
    case .downloadedElsewhere: return false
    case .downloaded:
      guard let version else { return false }
      if version == local.namespace { return true }
      // A version that the wallet prefers less takes the place only of what is older.
      guard let mine = namespaces.firstIndex(of: local.namespace),
        let other = namespaces.firstIndex(of: version)
      else { return false }
      return mine < other
    }
  }

  /// Asks in the next namespace, or ends if there is none before `end`.
  private mutating func goOn(
    to end: Int, after result: String, _ rejection: TokenScriptRejection? = nil
  ) -> Action {
    record(result, rejection)
    position += 1
    if position < end { return nextRequest() }
    let hasInvalid = attempts.contains { $0.rejection != nil }
    return finish(hasInvalid ? .invalid : .absent(isGone: hasGone))
  }

  private mutating func record(_ result: String, _ rejection: TokenScriptRejection? = nil) {
    attempts.append(
      TokenScriptReport.Attempt(
        namespace: namespaces[position], result: result, rejection: rejection))
  }

  private mutating func fail(_ reason: String) -> Action { finish(.failed(reason), reason) }

  private mutating func finish(_ outcome: TokenScriptReport.Outcome, _ result: String) -> Action {
    record(result)
    return finish(outcome)
  }

  private func finish(_ outcome: TokenScriptReport.Outcome) -> Action {
    .finish(TokenScriptReport(outcome: outcome, attempts: attempts, hasFile: local != nil))
  }
}
