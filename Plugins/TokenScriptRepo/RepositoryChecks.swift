internal import Cryptography
internal import XMLSecurity

/// The checks as the configuration wants them, with what they need from the disk.
struct RepositoryChecks: Sendable {
  /// Makes the checks.
  let reader: TokenScriptReader
  /// Names all that a reading depends on besides the file's bytes: whatever is remembered under
  /// another name is void.
  let fingerprint: String

  /// Loads the schemas and the roots; blocks on the disk.
  ///
  /// - Parameter configuration: which checks are made, and where their files lie.
  /// - Throws: what is wrong with the schemas or the roots.
  init(_ configuration: TokenScriptConfiguration) throws {
    var reader = TokenScriptReader()
    var parts = ["reader \(TokenScriptReader.version)"]
    if configuration.rules.signature != .off {
      reader.verifier = SignatureVerifier()
      parts.append("verifier \(SignatureVerifier.version)")
    }
    self.reader = reader
    fingerprint = parts.joined(separator: ", ")
  }
}
