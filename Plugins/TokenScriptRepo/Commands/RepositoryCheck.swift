internal import CommandLine
internal import ServiceKit
internal import Time
internal import TokenScriptReading

/// The check of the repository for `awd check`.
enum RepositoryCheck {
  /// Checks the whole repository, and changes nothing.
  ///
  /// - Parameter configuration: the section `[tokenscript]`.
  /// - Returns: the sum, the refused files, and oddities.
  static func findings(_ configuration: TokenScriptConfiguration) async -> [ContentFinding] {
    if !configuration.isRepositoryConfigured,
      !DemoRepository.exists(configuration.repository)
    {
      return [
        ContentFinding(
          .good,
          "no repository is configured; `awd serve` makes a demo in "
            + configuration.repository)
      ]
    }
    let inspection: RepositoryInspection
    do {
      inspection = try await RepositoryInspection(
        configuration, remembered: nil, now: Timestamp.now().wholeSecond)
    } catch { return [ContentFinding(.wrong, "\(error)".printable)] }
    let index = inspection.index
    var findings = [ContentFinding(.good, "\(configuration.repository): \(index.sum)")]
    findings += index.refusals.map { path, refusal in
      // Nobody is asked here who the owners are.
      let isOwners = refusal.reason == TokenScriptReader.untrusted && !configuration.chains.isEmpty
      let text = "\(path): refused because \(refusal.words)"
      return isOwners
        ? ContentFinding(
          .doubtful, "\(text), unless a chain says that the signer is the owner".printable)
        : ContentFinding(.wrong, text.printable)
    }
    findings += inspection.problems.map { ContentFinding(.doubtful, $0.printable) }
    var told: Set<RepositoryPath> = []
    for row in index.rows where !row.warnings.isEmpty && told.insert(row.path).inserted {
      findings.append(
        ContentFinding(
          .doubtful,
          "\(row.path): \(row.warnings.joined(separator: "; "))".printable))
    }
    for file in index.files {
      guard case .success(let meaning) = file.reading else { continue }
      let path = "\(configuration.repository)/\(file.path)"
      findings += meaning.advice(at: path, configuration.rules, isForPublishing: false).map {
        ContentFinding(.doubtful, "\(file.path): to mend it, \($0)".printable)
      }
    }
    if index.editions.isEmpty {
      findings.append(ContentFinding(.doubtful, "nothing is served: no file names a contract"))
    }
    return findings
  }
}
