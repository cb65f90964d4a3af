internal import Cryptography
internal import Platform
internal import XMLSecurity

/// The checks of the configuration, with the schemas and roots that they need from the disk.
struct RepositoryChecks: Sendable {
  /// The reader of the repository's files.
  let reader: TokenScriptReader
  /// The processes that validate, or nil if documents are validated in this process or not at all.
  let workers: SchemaWorkers?
  /// The verification of files that clients submit.
  let verification: FileVerification
  /// A text of everything that a reading depends on besides the file's bytes; readings under another text are void.
  let fingerprint: String
  /// The schemas to serve.
  let documents: SchemaDocuments
  /// The faults of schemas that can't be compiled, in words; they count as absent.
  let problems: [String]

  /// Loads the schemas and the roots; blocks on the disk.
  ///
  /// - Parameters:
  ///   - configuration: the rules, and the paths of the schemas and roots.
  ///   - known: the contents in service, which are reused for equal bytes.
  ///   - last: the checks before these by the same configuration, whose schemas are reused if they haven't changed.
  /// - Throws: ``RepositoryError``, ``SchemaError`` or ``CertificateError`` if the schemas or roots can't be read.
  init(
    _ configuration: TokenScriptConfiguration, _ headers: ResponseHeaders, now: Timestamp,
    sharing known: [FileContent] = [], answers: [OriginContract: ChainAnswer] = [:],
    after last: RepositoryChecks? = nil
  ) throws {
    let rules = configuration.rules
    documents = try Self.documents(configuration, headers, now: now, sharing: known)
    let schemas = try Self.schemas(configuration, documents, after: last)
    workers = schemas.workers
    problems = schemas.problems
    var reader = TokenScriptReader()
    var parts = ["reader \(TokenScriptReader.version)"]
    reader.schemas = schemas.check
    if rules.schema != .off {
      reader.needsSignature = rules.signature == .require
      parts.append("schemas \(documents.digest.hex) within \(configuration.schemaCPUTime)")
      if reader.needsSignature { parts.append("if signed") }
    }
    if rules.signature != .off {
      reader.verifier = SignatureVerifier()
      parts.append("verifier \(SignatureVerifier.version)")
      if rules.trust != .off {
        let path = configuration.roots ?? TrustStore.systemRoots
        reader.roots = try TrustStore(rootsFile: path)
        parts.append("roots \(try Self.digest(ofRoots: path).hex)")
      }
    }
    self.reader = reader
    verification = FileVerification(configuration, reader, answers: answers)
    fingerprint = parts.joined(separator: ", ")
  }

  private static func documents(
    _ configuration: TokenScriptConfiguration, _ headers: ResponseHeaders, now: Timestamp,
    sharing known: [FileContent]
  ) throws(RepositoryError) -> SchemaDocuments {
    guard !configuration.schemas.isEmpty else { return .none }
    return try RepositoryError.naming(configuration.schemas, .schemas) { () throws(SystemError) in
      try SchemaDocuments(folder: configuration.schemas, headers, now: now, sharing: known)
    }
  }

  /// The check against schemas.
  private struct Schemas {
    /// Checks documents, or nil if the rules require no check.
    var check: (any SchemaCheck)?
    /// The processes that validate, or nil if it is done in this process or not at all.
    var workers: SchemaWorkers?
    /// The faults of schemas that can't be compiled, in words.
    var problems: [String] = []
  }

  /// Returns the check against schemas that the rules require.
  private static func schemas(
    _ configuration: TokenScriptConfiguration, _ documents: SchemaDocuments,
    after last: RepositoryChecks?
  ) throws -> Schemas {
    guard configuration.rules.schema != .off else { return Schemas() }
    if let last, last.documents.digest == documents.digest {
      return Schemas(
        check: last.reader.schemas, workers: last.workers, problems: last.problems)
    }
    let validator = try SchemaValidator(folder: configuration.schemas)
    let workers = configuration.schemaProgram.map {
      SchemaWorkers(
        program: $0, schemas: configuration.schemas, cpuTime: configuration.schemaCPUTime)
    }
    return Schemas(
      check: workers ?? validator, workers: workers, problems: validator.problems)
  }

  private static func digest(ofRoots path: String) throws(RepositoryError) -> SHA256.Digest {
    try RepositoryError.naming(path, .roots) { () throws(SystemError) in
      SHA256.hash(try Descriptor.contents(ofFile: path, limit: rootsLimit))
    }
  }

  /// The largest file of roots in bytes; a system's has a quarter of a megabyte.
  private static let rootsLimit = 16 << 20
}

/// The error of a repository, a folder of schemas or a file of roots that can't be read.
struct RepositoryError: Error, CustomStringConvertible {
  /// The kinds of folders and files, by the keys of the configuration that name them.
  enum Kind: String { case repository, schemas, roots }

  /// The kind of content that can't be read.
  var kind = Kind.repository
  /// The path in the configuration.
  let folder: String
  /// The system's error message.
  let reason: String

  /// Does something with a folder or file, and names it if that fails.
  static func naming<Value>(
    _ folder: String, _ kind: Kind = .repository, _ body: () throws(SystemError) -> Value
  ) throws(RepositoryError) -> Value {
    do throws(SystemError) { return try body() } catch {
      throw RepositoryError(kind: kind, folder: folder, reason: "\(error)")
    }
  }

  /// The path and the reason in a sentence.
  var description: String {
    let name =
      switch kind {
      case .repository: "the repository"
      case .schemas: "the folder of schemas"
      case .roots: "the file of roots"
      }
    return "\(name) \(folder) can't be read: \(reason)"
  }
}
