internal import Cryptography
internal import Ethereum
internal import Time
internal import TokenScriptReading

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
  private struct Key: Hashable {
    let digest: SHA256.Digest
    let modified: Timestamp
  }

  private let contract: EthereumAddress
  private let schema: SchemaVersion
  private let signer: String?
  private let headers: ResponseHeaders
  private var files: [Key: PreparedFile] = [:]

  /// Makes a preparation.
  ///
  /// - Parameters:
  ///   - contract: the contract.
  ///   - schema: the version.
  ///   - signer: the signer that the requests name, or nil.
  ///   - headers: the header fields of responses.
  init(
    _ contract: EthereumAddress, _ schema: SchemaVersion, signer: String? = nil,
    _ headers: ResponseHeaders
  ) {
    self.contract = contract
    self.schema = schema
    self.signer = signer
    self.headers = headers
  }

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
