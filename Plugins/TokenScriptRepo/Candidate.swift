/// A file that may be the answer for one contract in one schema version.
struct Candidate: Sendable {
  /// The file.
  let file: RepositoryFile
  /// Its bytes.
  let content: Content
  /// What it means.
  let meaning: TokenScriptFile
  /// The time that it goes by, in seconds since 1970: signed, or else first seen.
  let modified: Int64
  /// When these bytes were first seen for the contract and version, in seconds since 1970.
  let firstSeen: Int64

  /// Whose signature it bears.
  var signer: TokenScriptFile.Signer? { meaning.signer }

  /// The values of `?signer=` that mean this one, in lower case.
  var signerNames: [String] {
    guard let signer else { return [] }
    return [signer.key.lowercased()] + (signer.commonName.map { [$0.lowercased()] } ?? [])
  }

  /// Whether `?signer=` means this one.
  ///
  /// - Parameter name: a common name or a key identifier, in any case.
  func isSigned(by name: String) -> Bool {
    signerNames.contains(name.lowercased())
  }

  /// Whether this file comes before another one of the same signer.
  ///
  /// - Parameter other: the other file.
  func isNewer(than other: Candidate) -> Bool {
    if modified != other.modified { return modified > other.modified }
    if firstSeen != other.firstSeen { return firstSeen > other.firstSeen }
    return file.path < other.file.path
  }

  /// What makes two files' signers the same: a key, or a name that a trusted chain vouches for. An
  /// unverified name proves nothing.
  var identities: Set<String> {
    guard let signer else { return ["unsigned"] }
    var identities: Set<String> = ["key \(signer.key.lowercased())"]
    if let name = signer.commonName, meaning.trust == .passed {
      identities.insert("name \(name.lowercased())")
    }
    return identities
  }
}
