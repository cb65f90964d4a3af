internal import Cryptography
internal import SystemCalls
internal import XMLSecurity

/// The checks as the configuration wants them, with what they need from the disk.
struct RepositoryChecks: Sendable {
  /// Makes the checks.
  let reader: TokenScriptReader
  /// Makes them of files that are sent in.
  let verification: FileVerification
  /// Names all that a reading depends on besides the file's bytes: whatever is remembered under
  /// another name is void.
  let fingerprint: String
  /// The schemas, to be served.
  let documents: SchemaDocuments
  /// What is wrong with schemas, in words; they count as absent.
  let problems: [String]

  /// Loads the schemas and the roots; blocks on the disk.
  ///
  /// - Parameters:
  ///   - configuration: which checks are made, and where their files lie.
  ///   - fields: the fields of every answer.
  ///   - now: the time, in seconds since 1970.
  ///   - known: the contents in service, which schemas share where they are the same.
  /// - Throws: what keeps the schemas or the roots from being read.
  init(
    _ configuration: TokenScriptConfiguration, _ fields: AnswerFields, now: Int64,
    sharing known: [Content] = []
  ) throws {
    let rules = configuration.rules
    var reader = TokenScriptReader()
    var parts = ["reader \(TokenScriptReader.version)"]
    if configuration.schemas.isEmpty {
      documents = .none
    } else {
      do throws(SystemError) {
        documents = try SchemaDocuments(
          folder: configuration.schemas, fields, now: now, sharing: known)
      } catch { throw RepositoryError(folder: configuration.schemas, reason: "\(error)") }
    }
    if rules.schema != .off {
      reader.schemas = try SchemaValidator(folder: configuration.schemas)
      parts.append("schemas \(Hex.encode(documents.digest))")
    }
    if rules.signature != .off {
      reader.verifier = SignatureVerifier()
      parts.append("verifier \(SignatureVerifier.version)")
    }
    if rules.signature != .off, rules.trust != .off {
      let path = configuration.roots ?? TrustStore.systemRoots
      reader.roots = try TrustStore(rootsFile: path)
      do throws(SystemError) {
        let bytes = try Descriptor.contents(ofFile: path, limit: Self.rootsLimit)
        parts.append("roots \(SHA256.hash(bytes).hex)")
      } catch { throw RepositoryError(folder: path, reason: "\(error)") }
    }
    problems = reader.schemas?.problems ?? []
    self.reader = reader
    verification = FileVerification(configuration, reader)
    fingerprint = parts.joined(separator: ", ")
  }

  /// A system's roots take a quarter of a megabyte.
  private static let rootsLimit = 16 << 20
}
