internal import Cryptography
internal import Ethereum
internal import Platform

/// The times since when each URL has given its present response.
struct PublicationTimes: Sendable {
  /// The parts of a URL that decide about its response.
  struct URL: Hashable, Sendable {
    /// The contract.
    let contract: EthereumAddress
    /// The version of the response; at a bare address the client has a say in it too.
    let schema: SchemaVersion
    /// True if the URL names no version.
    let isBare: Bool
    /// The signer and the chain that the URL names.
    let query: FileQuery
  }

  /// The response that a URL gives, and since when.
  struct DatedResponse: Equatable, Sendable {
    /// A SHA-256 that identifies the response.
    let fingerprint: SHA256.Digest
    /// The beginning.
    let since: Timestamp
  }

  /// The beginnings at both URLs of an edition, or nil if they do not matter.
  struct Since: Sendable {
    /// The beginning at the URL with the version.
    var versioned: Timestamp?
    /// The beginning at the URL without it.
    var bare: Timestamp?
  }

  /// The publications until now.
  let previous: [URL: DatedResponse]
  /// The present time in whole seconds.
  let now: Timestamp
  /// A text of everything that decides about a bare address's version besides the existing versions.
  let choice: String
  /// The publications of the next index, as far as they are recorded.
  private(set) var current: [URL: DatedResponse] = [:]

  /// Records the response of the next index at both forms of a URL.
  ///
  /// - Returns: the times since when both have given this response.
  mutating func record(
    _ answer: ChainSelection.Answer, _ contract: EthereumAddress, _ schema: SchemaVersion,
    _ query: FileQuery, among versions: some Sequence<SchemaVersion>
  ) -> Since {
    let digests = answer.files.flatMap(\.content.digest.bytes)
    let choices = versions.map(\.path).sorted().joined(separator: " ")
    func url(isBare: Bool) -> URL {
      URL(contract: contract, schema: schema, isBare: isBare, query: query)
    }
    return Since(
      versioned: since(url(isBare: false), SHA256.hash(digests)),
      bare: since(url(isBare: true), SHA256.hash(digests + Array((choices + choice).utf8))))
  }

  private mutating func since(_ url: URL, _ fingerprint: SHA256.Digest) -> Timestamp {
    let known = previous[url].flatMap { $0.fingerprint == fingerprint ? $0 : nil }
    let publication = known ?? DatedResponse(fingerprint: fingerprint, since: now)
    current[url] = publication
    return publication.since
  }

  /// The publications that are new.
  var begun: [URL: DatedResponse] { current.filter { previous[$0.key] != $0.value } }

  /// The URLs that give nothing any more; a response that comes back there is new.
  var ended: [URL] { previous.keys.filter { current[$0] == nil } }
}
