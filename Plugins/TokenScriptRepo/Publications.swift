internal import Cryptography

/// Since when each URL has had the answer that it has.
struct Publications: Sendable {
  /// What is asked for at a URL. Its version is the one that is answered with: at a bare address the
  /// client decides on it too.
  struct URL: Hashable, Sendable {
    /// The contract.
    let contract: EthereumAddress
    /// The version of the answer.
    let schema: SchemaVersion
    /// Whether the URL names no version.
    let isBare: Bool
    /// The value of `signer`, in lower case; empty: none.
    let signer: String
  }

  /// The answer at a URL.
  struct Answer: Equatable, Sendable {
    /// Tells it from others.
    let fingerprint: [UInt8]
    /// Since when it has been the answer, in seconds since 1970.
    let since: Int64
  }

  /// Since when an edition has been the answer, by either form of its URL.
  struct Since: Sendable {
    /// With the version in the URL.
    var versioned = Int64.min
    /// Without.
    var bare = Int64.min
  }

  private let previous: [URL: Answer]
  private let now: Int64
  /// What the choice between versions depends on besides which there are.
  private let choice: [UInt8]
  private(set) var current: [URL: Answer] = [:]

  /// What there has been until now.
  ///
  /// - Parameters:
  ///   - previous: the answers in service.
  ///   - now: the time, in seconds since 1970.
  ///   - choice: all that a bare address' version depends on besides which there are.
  init(_ previous: [URL: Answer], now: Int64, choice: String) {
    self.previous = previous
    self.now = now
    self.choice = Array(choice.utf8)
  }

  /// Takes up the answer at both forms of a URL.
  ///
  /// - Parameters:
  ///   - selection: the answer.
  ///   - contract: the contract.
  ///   - schema: the version.
  ///   - versions: all versions that a bare address could be answered with.
  ///   - signer: the value of `signer`, in lower case; empty: none.
  /// - Returns: since when it has been the answer.
  mutating func record(
    _ selection: Selection, _ contract: EthereumAddress, _ schema: SchemaVersion,
    among versions: some Sequence<SchemaVersion>, signer: String = ""
  ) -> Since {
    let answer = selection.chosen.flatMap(\.content.digest)
    let choices = versions.map(\.path).sorted().joined(separator: " ")
    func url(isBare: Bool) -> URL {
      URL(contract: contract, schema: schema, isBare: isBare, signer: signer)
    }
    return Since(
      versioned: since(url(isBare: false), SHA256.hash(answer).bytes),
      bare: since(url(isBare: true), SHA256.hash(answer + Array(choices.utf8) + choice).bytes))
  }

  private mutating func since(_ url: URL, _ fingerprint: [UInt8]) -> Int64 {
    let known = previous[url].flatMap { $0.fingerprint == fingerprint ? $0 : nil }
    let answer = known ?? Answer(fingerprint: fingerprint, since: now)
    current[url] = answer
    return answer.since
  }

  /// The answers that are new.
  var begun: [URL: Answer] { current.filter { previous[$0.key] != $0.value } }

  /// The URLs without an answer from now on: should one come back, it is new.
  var ended: [URL] { previous.keys.filter { current[$0] == nil } }
}
