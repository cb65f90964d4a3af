internal import Cryptography
internal import Glibc
internal import SystemCalls
internal import Time
internal import TokenScriptReading
internal import XMLSecurity

/// The files that were published over HTTP, on disk; all of it blocks. Only one task at a time may write.
struct PublishedFolder: Sendable {
  /// The repository's root.
  let root: String

  private func location(_ path: RepositoryPath) -> String { "\(root)/\(path.text)" }

  /// Writes a file, whole or not at all, and removes the mark that withdrew the one before.
  ///
  /// - Throws: ``SystemError``; then the file is as it was.
  func write(_ path: RepositoryPath, _ bytes: [UInt8]) throws(SystemError) {
    let target = location(path)
    // Not `*.tsml`, so that the repository takes no notice of it.
    let temporary = "\(target).new"
    try DurableFile.makeFolder(DurableFile.folder(of: target))
    // A process that was killed may have left one.
    unsafe unlink(temporary)
    do throws(SystemError) {
      try DurableFile.create(temporary, bytes)
      guard unsafe rename(temporary, target) == 0 else { throw SystemError(errno) }
    } catch {
      unsafe unlink(temporary)
      throw error
    }
    unsafe unlink(location(path.mark))
    try DurableFile.sync(folderOf: target)
  }

  /// Withdraws files, by renaming them to their marks.
  ///
  /// - Throws: ``SystemError``; then some of them may be withdrawn.
  func withdraw(_ paths: [RepositoryPath]) throws(SystemError) {
    for path in paths {
      guard unsafe rename(location(path), location(path.mark)) == 0 else {
        throw SystemError(errno)
      }
      try DurableFile.sync(folderOf: location(path))
    }
  }

  /// Reads the marks at some paths; those that can't be read are left out.
  func marks(_ paths: [RepositoryPath]) -> [PublicationJudge.Mark] {
    paths.compactMap { path in
      guard
        let bytes = try? Descriptor.contents(
          ofFile: location(path), limit: XMLLimits.standard.bytes),
        let document = try? XMLDocument(parsing: bytes),
        let signature = try? SignatureVerifier().verify(document).last
      else { return nil }
      return PublicationJudge.Mark(digest: SHA256.hash(bytes), time: signature.signingTime)
    }
  }
}
