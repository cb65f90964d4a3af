package import ServiceKit
internal import Platform

extension TokenScriptConfiguration: Checking, BackedUp {
  /// The folders of the repository and the schemas.
  package var contentFolders: [String] { [repository, schemas] }

  /// Checks the whole repository as `awd serve` would, every file anew.
  ///
  /// - Parameter isExposed: whether other machines reach the server; it makes no difference here.
  /// - Returns: the sum, the refused files, and oddities.
  package func findings(isExposed: Bool) async -> [ContentFinding] {
    if !isRepositoryConfigured, !DemoRepository.exists(repository) {
      return [.good("no repository is configured; `awd serve` makes a demo in \(repository)")]
    }
    let inspection: RepositoryInspection
    do {
      inspection = try await RepositoryInspection(
        self, remembered: nil, now: Timestamp.now().wholeSecond)
    } catch { return [.wrong("\(error)".printable)] }
    let index = inspection.index
    var findings = [ContentFinding.good("\(repository): \(index.sum)")]
    findings += index.refusals.map { path, refusal in
      // Nobody is asked here who the owners are.
      let isOwners = refusal.reason == TokenScriptReader.untrusted && !chains.isEmpty
      let text = "\(path): refused because \(refusal.words)"
      return isOwners
        ? .doubtful("\(text), unless a chain says that the signer is the owner".printable)
        : .wrong(text.printable)
    }
    findings += inspection.problems.map { .doubtful($0.printable) }
    var told: Set<RepositoryPath> = []
    for row in index.rows where !row.warnings.isEmpty && told.insert(row.path).inserted {
      findings.append(.doubtful("\(row.path): \(row.warnings.joined(separator: "; "))".printable))
    }
    for file in index.files {
      guard case .success(let meaning) = file.reading else { continue }
      let path = "\(repository)/\(file.path)"
      findings += meaning.advice(at: path, rules, isForPublishing: false).map {
        .doubtful("\(file.path): to mend it, \($0)".printable)
      }
    }
    if index.editions.isEmpty {
      findings.append(.doubtful("nothing is served: no file names a contract"))
    }
    return findings
  }
}
