internal import Cryptography
internal import Ethereum
internal import ServiceKit
internal import SystemCalls
internal import Time
internal import TokenScriptReading
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
  ///   - headers: the header fields of responses.
  ///   - now: the present time.
  ///   - known: the contents in service, which are reused for equal bytes.
  ///   - owners: the owners of contracts by their chains' words.
  ///   - last: the checks before these by the same configuration, whose schemas are reused if they haven't changed.
  /// - Throws: ``RepositoryError``, ``SchemaError`` or ``CertificateError`` if the schemas or roots can't be read.
  init(
    _ configuration: TokenScriptConfiguration, _ headers: ResponseHeaders, now: Timestamp,
    sharing known: [Content] = [], owners: [Origin: EthereumAddress] = [:],
    after last: RepositoryChecks? = nil
  ) throws {
    let rules = configuration.rules
    var reader = TokenScriptReader()
    var parts = ["reader \(TokenScriptReader.version)"]
    if configuration.schemas.isEmpty {
      documents = .none
    } else {
      do throws(SystemError) {
        documents = try SchemaDocuments(
          folder: configuration.schemas, headers, now: now, sharing: known)
      } catch { throw RepositoryError(folder: configuration.schemas, reason: "\(error)") }
    }
    var workers: SchemaWorkers?
    if rules.schema == .off {
      problems = []
    } else {
      if let last, last.documents.digest == documents.digest {
        (workers, problems) = (last.workers, last.problems)
        reader.schemas = last.reader.schemas
      } else {
        let validator = try SchemaValidator(folder: configuration.schemas)
        problems = validator.problems
        // A test has the parts of the program, but isn't the program.
        if Product.isProgram {
          workers = SchemaWorkers(
            schemas: configuration.schemas, cpuTime: configuration.schemaCPUTime)
        }
        reader.schemas = workers ?? validator
      }
      reader.needsSignature = rules.signature == .require
      parts.append("schemas \(documents.digest.hex) within \(configuration.schemaCPUTime)")
      if reader.needsSignature { parts.append("if signed") }
    }
    self.workers = workers
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
    self.reader = reader
    verification = FileVerification(configuration, reader, owners: owners)
    fingerprint = parts.joined(separator: ", ")
  }

  /// A system's roots take a quarter of a megabyte.
  private static let rootsLimit = 16 << 20
}
