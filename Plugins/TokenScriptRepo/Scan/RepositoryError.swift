/// The error of a repository, a folder of schemas or a file of roots that can't be read.
struct RepositoryError: Error, CustomStringConvertible {
  /// The path in the configuration.
  let folder: String
  /// The system's words.
  let reason: String

  /// The path and the reason in a sentence.
  var description: String { "the repository \(folder) can't be read: \(reason)" }
}
