internal import Glibc
internal import ServiceKit
internal import SystemCalls

/// The index as a server would make it now, made without one or beside one: nothing is written.
struct RepositoryInspection {
  /// The index.
  let index: ContractIndex
  /// What was left out besides files: schemas, folders and links, in words.
  let problems: [String]

  /// Looks at the whole repository.
  ///
  /// - Parameters:
  ///   - configuration: where the files lie and what becomes of findings.
  ///   - store: what a server remembers; nil: every file is verified anew.
  ///   - now: the time, in seconds since 1970.
  /// - Throws: what keeps the repository, the schemas or the roots from being read.
  init(
    _ configuration: TokenScriptConfiguration, remembered store: ContractStore?, now: Int64
  ) async throws {
    let fields = AnswerFields(dependsOnClient: false)
    let (checks, folder, listing) = try await WorkerThreads.run {
      let checks = try RepositoryChecks(configuration, fields, now: now)
      do throws(SystemError) {
        let folder = try RepositoryFolder(configuration.repository)
        return (checks, folder, try folder.list())
      } catch {
        let isExpected = error.code == ENOENT && !configuration.isRepositoryConfigured
        throw RepositoryError(
          folder: configuration.repository,
          reason: "\(error)" + (isExpected ? "; `awd serve` makes a demo there" : ""))
      }
    }
    let memory = try await store?.memory(under: checks.fingerprint) ?? ContractStore.Memory()
    let scan = RepositoryScan(
      folder: folder, reader: checks.reader, rules: configuration.rules, now: now,
      readings: memory.readings, known: [])
    let found = try await scan.files(listing.entries) { Terminal.showProgress($0, of: $1, "files") }
    Terminal.clearProgress()
    let files = RepositoryIndexer.merge(found, listing, keeping: .empty)
    var builder = IndexBuilder(
      rules: configuration.rules, fields: fields, now: now, sightings: memory.sightings)
    index = builder.build(files.served, checks.documents, generation: 1)
    problems =
      checks.problems.map { "schema left out: \($0)" }
      + listing.problems.filter { $0.path.kind == nil }.map {
        "left out: \($0.path): \($0.message)"
      }
  }
}
