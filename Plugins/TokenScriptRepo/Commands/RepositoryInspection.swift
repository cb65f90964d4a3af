package import ServiceKit

internal import Glibc
internal import Platform

/// The index as a server would make it now, made without writing anything.
struct RepositoryInspection {
  /// The index.
  let index: ContractIndex
  /// The schemas, folders and links that were left out, in words.
  let problems: [String]

  /// Scans the whole repository.
  ///
  /// - Parameters:
  ///   - store: a server's stored readings, or nil to verify every file anew.
  ///   - now: the present time in whole seconds.
  /// - Throws: an error if the repository, the schemas or the roots can't be read.
  init(
    _ configuration: TokenScriptConfiguration, remembered store: ContractStore?, now: Timestamp
  ) async throws {
    let headers = ResponseHeaders(dependsOnClient: false)
    let threads = ThreadPool(named: "awd-scan")
    let checks = try await threads.run { try RepositoryChecks(configuration, headers, now: now) }
    let (folder, listing) = try await threads.run {
      do throws(SystemError) {
        let folder = try RepositoryFolder(configuration.repository)
        return (folder, try folder.list())
      } catch {
        let isExpected = error.code == ENOENT && !configuration.isRepositoryConfigured
        throw RepositoryError(
          folder: configuration.repository,
          reason: "\(error)" + (isExpected ? "; `awd serve` makes a demo there" : ""))
      }
    }
    var rules = configuration.rules
    if let store {
      rules.answers = try await store.chainAnswers(on: configuration.chains.keys).answers
    }
    let memory = try await store?.memory(under: checks.fingerprint) ?? ContractStore.Memory()
    let scan = RepositoryScan(
      folder: folder, reader: checks.reader, rules: rules, now: now,
      memory: memory, known: [:])
    let found = try await scan.files(listing.entries, on: threads) {
      Terminal.showProgress($0, of: $1, "files")
    }
    Terminal.clearProgress()
    let changes = try await store?.publications(after: 0) ?? ContractStore.Changes(last: 0)
    var files = RepositoryIndexer.merge(changes.filesBeside(found), listing, keeping: .empty).served
    if let store { files += try await scan.files(changes.publications, from: store, on: threads) }
    var builder = IndexBuilder(
      rules: rules, headers: headers, now: now, sightings: memory.sightings)
    index = builder.build(files.sorted { $0.path < $1.path }, checks.documents, generation: 1)
    problems =
      checks.problems.map { "schema left out: \($0)" }
      + listing.problems.filter { $0.path.kind == nil }.map {
        "left out: \($0.path): \($0.message)"
      }
  }
}

extension TokenScriptConfiguration: Checking, BackedUp {
  /// The folders of the repository and the schemas.
  package var contentFolders: [String] { [repository, schemas] }

  /// The digest of the repository's folder.
  package func contentDigests() async -> [String: [UInt8]] {
    // What can't be read is a finding of its own.
    let digest = try? await RepositoryDigest.of(
      folder: repository, on: ThreadPool(named: "awd-digest"))
    return digest.map { ["repository": $0] } ?? [:]
  }

  /// Checks the whole repository as `awd serve` would, every file anew.
  ///
  /// - Parameter isExposed: whether other machines reach the server; it makes no difference here.
  /// - Returns: the sum, the refused files, and oddities.
  package func findings(isExposed: Bool) async -> [ContentFinding] {
    if !isRepositoryConfigured, !DemoRepository.exists(repository) {
      do {
        _ = try RepositoryChecks(
          self, ResponseHeaders(dependsOnClient: false), now: Timestamp.now().wholeSecond)
      } catch { return [.wrong("\(error)".printable)] }
      return [.good("no repository is configured; `awd serve` makes a demo in \(repository)")]
    }
    if isRepositoryInData, unsafe access(repository, F_OK) != 0, errno == ENOENT {
      return [.good("\(repository): `awd serve` makes the folder, for the files to serve")]
    }
    let inspection: RepositoryInspection
    do {
      inspection = try await RepositoryInspection(
        self, remembered: nil, now: Timestamp.now().wholeSecond)
    } catch { return [.wrong("\(error)".printable)] }
    let index = inspection.index
    var findings = [ContentFinding.good("\(repository): \(index.sum)")]
    if isExposed, rules.signature == .off {
      findings.append(
        .doubtful(
          "signature = \"off\" serves files that nobody has signed, and other machines reach the "
            + "server; set it to \"require\""))
    }
    findings += index.refusals.map { path, refusal in
      // No chain is queried here for the owners.
      let isOwners = refusal.reason == TokenScriptReader.untrusted && !chains.isEmpty
      let text = "\(path): refused because \(refusal.words)"
      return isOwners
        ? .doubtful("\(text), unless a chain says that the signer is the owner".printable)
        : .wrong(text.printable)
    }
    findings += inspection.problems.map { .doubtful($0.printable) }
    var seen: Set<RepositoryPath> = []
    for row in index.rows where !row.warnings.isEmpty && seen.insert(row.path).inserted {
      findings.append(.doubtful("\(row.path): \(row.warnings.joined(separator: "; "))".printable))
    }
    for file in index.files {
      guard case .success(let meaning) = file.reading else { continue }
      let path = "\(repository)/\(file.path)"
      findings += meaning.advice(at: path, rules, isForPublishing: false).map {
        .doubtful("\(file.path): to mend it, \($0)".printable)
      }
    }
    if index.files.isEmpty, isRepositoryInData {
      findings.append(.good("nothing is served yet: put TokenScripts into \(repository)"))
    } else if index.editions.isEmpty {
      findings.append(.doubtful("nothing is served: no file names a contract"))
    }
    return findings
  }
}
