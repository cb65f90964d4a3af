package import Storage

/// The configuration of a service with files or rows that a backup treats in a way of their own.
package protocol BackedUp: ServiceConfiguration {
  /// The tables whose rows a restored store must not have, as they say that nothing that came later is lost.
  static var unrestoredTables: [StaticString] { get }

  /// The paths of the files without which the store is of no use, such as keys, by the keys of the section that name them.
  ///
  /// `awd backup` copies them wherever they lie, and `awd restore` puts them where the configuration then says.
  var keyFiles: [String: String] { get }

  /// Reads one of ``keyFiles`` as the service does.
  ///
  /// - Parameter key: the key of the section that names the file, which is there.
  /// - Returns: a sentence that names the file if it can't be read or holds no keys.
  func keyFileProblem(_ key: String) -> String?

  /// The paths of the folders of content that may lie in the data folder, but are kept elsewhere too: `awd backup` leaves
  /// them out. Empty ones count for nothing.
  var contentFolders: [String] { get }

  /// Writes pending changes into their tables, before the rows of a SQLite file are copied to a database that several nodes
  /// share.
  ///
  /// - Parameter store: the file's store, which nobody else uses.
  func applyPendingChanges(in store: Store) async throws
}

extension BackedUp {
  /// No such tables.
  package static var unrestoredTables: [StaticString] { [] }
  /// No files.
  package var keyFiles: [String: String] { [:] }
  /// No fault.
  package func keyFileProblem(_ key: String) -> String? { nil }
  /// No folders.
  package var contentFolders: [String] { [] }
  package func applyPendingChanges(in store: Store) async throws {}
}
