internal import Cryptography
internal import Ethereum
internal import Platform

/// The response to requests for one contract and version, but for what depends on the request.
enum PreparedResponse: Sendable {
  /// One file.
  case file(PreparedFile)
  /// Several files, for the wallet to choose from.
  case choices(PreparedChoices)
  /// The contract was served here and has been withdrawn.
  case gone
}

/// Prepares the responses for one contract and version; equal files are prepared once.
struct ResponsePreparation {
  struct Key: Hashable {
    let digest: SHA256.Digest
    let modified: Timestamp
  }

  /// The contract.
  let contract: EthereumAddress
  /// The version.
  let schema: SchemaVersion
  /// The signer that the requests name, or nil.
  var signer: String?
  /// The header fields of responses.
  let headers: ResponseHeaders
  private(set) var files: [Key: PreparedFile] = [:]

  /// Prepares the response with some files.
  ///
  /// - Parameters:
  ///   - answer: the files.
  ///   - since: the time since when they have been the answer, or nil if it does not matter.
  mutating func response(
    with answer: ChainSelection.Answer, since: Timestamp? = nil
  ) -> PreparedResponse {
    guard case .files(let chosen, _) = answer, chosen.count == 1 else {
      return .choices(
        PreparedChoices(answer, contract: contract, schema: schema, signer: signer, headers))
    }
    let file = chosen[0]
    let modified = max(file.modified, since ?? file.modified)
    let key = Key(digest: file.content.digest, modified: modified)
    let prepared = files[key] ?? PreparedFile(file.content, modified: modified, headers)
    files[key] = prepared
    return .file(prepared)
  }
}
