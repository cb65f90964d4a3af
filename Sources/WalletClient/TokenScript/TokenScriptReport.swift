public import HTTPProtocol

/// What came of asking a repository for a TokenScript.
public struct TokenScriptReport: Sendable, Equatable {
  /// One answer of the repository, or its failure to give one.
  public struct Attempt: Sendable, Equatable {
    /// The namespace asked for; nil: the repository chose.
    public let namespace: TokenScriptNamespace?
    /// What came of it, in a few words; may quote the file.
    public let result: String
    /// Why the file that came was not taken; nil: another result.
    public let rejection: TokenScriptRejection?
  }

  /// How it ended.
  public enum Outcome: Sendable, Equatable {
    /// A verified file is in the cache now; `isUpdate`: in place of an older one.
    case stored(SignedTokenScript, modified: HTTPDate, isUpdate: Bool)
    /// The repository has nothing newer than the local file.
    case unchanged
    /// The local file is newer than the repository's, of the date given: its author's own, who
    /// tests it. It stays.
    case ownFile(repository: HTTPDate)
    /// Several signers have published a file: the user must choose one, and ask for it by
    /// ``TokenScriptRequest/signer``.
    case choices([TokenScriptChoice])
    /// The repository has no file; `isGone`: it had one.
    case absent(isGone: Bool)
    /// No file that the repository has can be taken; the attempts say why.
    case invalid
    /// The repository gave no answer that is of use; the reason in words.
    case failed(String)
  }

  /// How it ended.
  public let outcome: Outcome
  /// Every answer, in order.
  public let attempts: [Attempt]
  /// Whether a file lies in the cache now, new or old.
  public let hasFile: Bool
  /// Where it lies, or would lie.
  public var path = ""
}
