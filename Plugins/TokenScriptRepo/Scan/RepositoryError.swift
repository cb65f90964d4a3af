internal import Platform

/// The error of a repository, a folder of schemas or a file of roots that can't be read.
struct RepositoryError: Error, CustomStringConvertible {
  /// The path in the configuration.
  let folder: String
  /// The system's words.
  let reason: String

  /// Does something with a folder or file, and names it if that fails.
  static func naming<Value>(
    _ folder: String, _ body: () throws(SystemError) -> Value
  ) throws(RepositoryError) -> Value {
    do throws(SystemError) { return try body() } catch {
      throw RepositoryError(folder: folder, reason: "\(error)")
    }
  }

  /// The path and the reason in a sentence.
  var description: String { "the repository \(folder) can't be read: \(reason)" }
}
