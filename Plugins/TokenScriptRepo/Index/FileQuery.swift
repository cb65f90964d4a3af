internal import Ethereum

/// The part of a request that selects among the files for one contract and version.
struct FileQuery: Hashable, Sendable {
  /// The signer's common name or key identifier in lower case, or nil for any signer.
  let signer: String?
  /// The chain, or nil if the request names none.
  let chain: ChainID?

  /// Makes a query.
  init(signer: String? = nil, chain: ChainID? = nil) {
    self.signer = signer?.lowercased()
    self.chain = chain
  }

  /// True if any file is as good as another.
  var isEmpty: Bool { signer == nil && chain == nil }

  /// Returns whether a file matches the query.
  func selects(_ candidate: Candidate) -> Bool {
    signer.map(candidate.isSigned) ?? true && chain.map(candidate.chains.contains) ?? true
  }
}
