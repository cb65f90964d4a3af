internal import Cryptography
internal import Ethereum
internal import TokenScriptReading

extension RepositoryPath {
  /// The folder of all files that were published over HTTP, which nobody else writes to.
  static let publishedFolder = "published"

  /// Makes the path of a published file: `published/<key>/<YYYY>-<MM>/<chain>-<address>.tsml`.
  ///
  /// - Parameters:
  ///   - key: the key identifier of the signer: `0x` and hexadecimal digits, or the digits alone.
  ///   - schema: the version.
  ///   - contract: the contract.
  ///   - chain: the contract's chain.
  static func published(
    by key: String, _ schema: SchemaVersion, _ contract: EthereumAddress, on chain: ChainID
  ) -> RepositoryPath {
    RepositoryPath(
      "\(publishedFolder)/\(key)/\(schema.path.replacing("/", with: "-"))/\(chain)-"
        + "\(contract.lowercase).tsml")
  }

  /// The key identifier of who published the file, or nil for any other file.
  var publisher: String? {
    let segments = segments
    guard segments.count == 4, segments[0].elementsEqual(Self.publishedFolder.utf8) else {
      return nil
    }
    return String(decoding: segments[1], as: UTF8.self)
  }

  /// The path of the mark that withdraws the file.
  var mark: RepositoryPath { RepositoryPath("\(text).gone") }
}
