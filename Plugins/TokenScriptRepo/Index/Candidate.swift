internal import Ethereum
internal import Platform

/// A file that may be served for one contract in one schema version, on some chains.
struct Candidate: Sendable {
  /// The file.
  let file: RepositoryFile
  /// The file's bytes.
  let content: Content
  /// The file's meaning.
  let meaning: TokenScriptFile
  /// The chains that the file names the contract on, in the order of their numbers; at least one.
  let chains: [ChainID]
  /// The signing time, or else the time at which the bytes were first seen.
  let modified: Timestamp
  /// The time at which these bytes were first seen for the contract and version.
  let firstSeen: Timestamp

  /// The file's signer.
  var signer: TokenScriptFile.Signer? { meaning.signer }

  /// The values of `?signer=` that select the file, in lower case.
  var signerNames: [String] {
    guard let signer else { return [] }
    return [signer.key, signer.authority, signer.commonName].compactMap { $0?.lowercased() }
  }

  /// Returns whether a value of `?signer=` selects the file.
  ///
  /// - Parameter name: a common name, or the identifier of the key or of its authority, in any case.
  func isSigned(by name: String) -> Bool { signerNames.contains(name.lowercased()) }

  /// Returns whether this file supersedes another one of the same signer.
  func isNewer(than other: Candidate) -> Bool {
    (modified, firstSeen, other.file.path) > (other.modified, other.firstSeen, file.path)
  }

  /// The identities of the signer; files that share one have the same signer.
  ///
  /// An identity is a key, its authority, or a name that a trusted chain vouches for. An unverified name proves nothing.
  var identities: Set<String> {
    guard let signer else { return ["unsigned"] }
    var identities = Set([signer.key, signer.authority].compactMap { $0.map { "key \($0)" } })
    if let name = signer.commonName, meaning.trust == .passed {
      identities.insert("name \(name.lowercased())")
    }
    return identities
  }
}
