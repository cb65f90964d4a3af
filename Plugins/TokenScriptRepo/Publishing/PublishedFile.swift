internal import Cryptography
internal import Ethereum
internal import Platform

/// A file that was published over HTTP, as the store has it.
///
/// A signer has one file in a slot: a newer one replaces it, and a withdrawn one leaves a mark there.
struct PublishedFile: Sendable {
  /// The place of a file, at which a newer one replaces it: one for each signer, contract and version.
  struct Slot: Hashable, Sendable {
    /// The identifier of the signer: its authority's, or else its key's.
    let signer: String
    /// The version.
    let schema: SchemaVersion
    /// The contract and the chain in the URL.
    let origin: OriginContract
  }

  /// The slot.
  let slot: Slot
  /// The SHA-256 of the bytes.
  let digest: SHA256.Digest
  /// The number of the bytes.
  let size: Int
  /// The signing time, or nil if none is signed.
  let signed: Timestamp?
  /// The time at which the bytes were accepted, in whole seconds.
  let accepted: Timestamp
  /// True if its signer, or the operator, has withdrawn the file.
  var isWithdrawn = false
  /// The contracts that the file names as its origins.
  var origins: [TokenScriptFile.Contract] = []
  /// The number of these contracts, each on each of its chains.
  let originCount: Int

  /// The time that orders the files of a signer.
  var time: Timestamp { signed ?? accepted }

  /// The path that the file is listed by.
  var path: RepositoryPath { isWithdrawn ? slot.path.mark : slot.path }
}

extension PublishedFile.Slot {
  /// The folder of all files that were published over HTTP.
  static let folder = "published"

  /// The path of the file: `published/<signer>/<YYYY>-<MM>/<chain>-<address>.tsml`.
  var path: RepositoryPath {
    RepositoryPath(
      "\(Self.folder)/\(signer)/\(schema.path.replacing("/", with: "-"))/\(origin.chain)-"
        + "\(origin.contract.lowercase).tsml")
  }

  /// Reads the path of a file or its mark; nil for any other.
  init?(_ path: RepositoryPath) {
    let parts = path.segments.map { String(decoding: $0, as: UTF8.self) }
    guard parts.count == 4, parts[0] == Self.folder,
      let schema = SchemaVersion(parts[2].replacing("-", with: "/")),
      let name = parts[3].split(separator: ".", maxSplits: 1).first?.split(separator: "-"),
      name.count == 2, let chain = ChainID(String(name[0])),
      let contract = EthereumAddress(String(name[1]))
    else { return nil }
    self.init(signer: parts[1], schema: schema, origin: OriginContract(contract, on: chain))
    guard path == self.path || path == self.path.mark else { return nil }
  }
}

extension RepositoryPath {
  /// The path of the mark that withdraws the file.
  var mark: RepositoryPath { RepositoryPath("\(text).gone") }
}

extension TokenScriptFile {
  /// The contracts that the file names as its origins, each once on each chain.
  var namedOrigins: [Contract] {
    var seen: Set<OriginContract> = []
    return contracts.filter { $0.isOrigin && seen.insert($0.origin).inserted }
  }
}

extension TokenScriptFile.Contract {
  /// The contract on its chain.
  var origin: OriginContract { OriginContract(address, on: chain) }
}

extension TokenScriptFile.Signer {
  /// The identifier of the publisher.
  var publisher: String { authority ?? key }
}
