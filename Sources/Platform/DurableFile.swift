package import Glibc

/// Writes files so that they outlast a power cut.
package enum DurableFile {
  /// Makes a file that must not be there yet; blocks on the disk.
  ///
  /// - Parameter modified: the time of its last change in seconds since 1970, or nil for now.
  /// - Throws: ``SystemError``; then the file may be there in part.
  package static func create(
    _ path: String, _ bytes: [UInt8], mode: mode_t = 0o644, modified: Int? = nil
  ) throws(SystemError) {
    let file = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw SystemError(errno) }
    defer { close(file) }
    try writeAll(bytes, to: file)
    if let modified {
      let time = timespec(tv_sec: modified, tv_nsec: 0)
      guard unsafe futimens(file, [time, time]) == 0 else { throw SystemError(errno) }
    }
    guard fchmod(file, mode) == 0, fsync(file) == 0 else { throw SystemError(errno) }
  }

  /// Makes a file that is never replaced, whole or not at all; blocks on the disk.
  ///
  /// - Returns: whether it was made; otherwise there is one.
  /// - Throws: ``SystemError``; then there is no file, or the whole one.
  package static func createOnce(
    _ path: String, _ bytes: [UInt8], mode: mode_t
  ) throws(SystemError) -> Bool {
    let temporary = "\(path).\(getpid()).new"
    unsafe unlink(temporary)
    defer { unsafe unlink(temporary) }
    try create(temporary, bytes, mode: mode)
    // A link, unlike a rename, never replaces an existing file.
    guard unsafe link(temporary, path) == 0 else {
      if errno == EEXIST { return false }
      throw SystemError(errno)
    }
    try sync(folderOf: path)
    return true
  }

  /// Replaces the content of a file, whole or not at all; blocks on the disk.
  ///
  /// - Parameters:
  ///   - path: the file; the target of a link is replaced, not the link.
  ///   - fallback: the permissions of a file that isn't there yet; else they stay as they are.
  /// - Throws: ``SystemError``; then the file is as it was.
  package static func replace(
    _ path: String, _ bytes: [UInt8], mode fallback: mode_t = 0o644
  ) throws(SystemError) {
    var target = path
    var mode = fallback
    var status = stat()
    let isThere = unsafe stat(path, &status) == 0
    if isThere {
      target = String(decoding: try realPath(Array(path.utf8)), as: UTF8.self)
      mode = status.st_mode & 0o7777
    }
    // Not `*.xml`, so that a repository ignores it.
    let temporary = "\(target).\(getpid()).new"
    do throws(SystemError) {
      try create(temporary, bytes, mode: mode)
      // Only root can give a file away; files that others replace are theirs.
      if isThere { _ = unsafe lchown(temporary, status.st_uid, status.st_gid) }
      guard unsafe rename(temporary, target) == 0 else { throw SystemError(errno) }
    } catch {
      if error.code != EEXIST { unsafe unlink(temporary) }
      throw error
    }
    try sync(folderOf: target)
  }

  /// Makes a folder and those above it that are missing; blocks on the disk.
  ///
  /// - Parameter mode: the permissions of new folders, reduced by the umask; by default for this user alone.
  /// - Throws: ``SystemError``.
  package static func makeFolder(_ folder: String, mode: mode_t = 0o700) throws(SystemError) {
    guard unsafe access(folder, F_OK) != 0 else { return }
    try makeFolder(self.folder(of: folder), mode: mode)
    guard unsafe mkdir(folder, mode) == 0 || errno == EEXIST else { throw SystemError(errno) }
    try sync(folderOf: folder)
  }

  /// The folder that a path is in.
  ///
  /// - Parameter path: any path, without a slash at its end.
  /// - Returns: the folder's path; `.` for a mere name.
  package static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// Makes the names in a path's folder durable.
  ///
  /// - Parameter path: a file or folder that was just made, renamed or removed.
  /// - Throws: ``SystemError``.
  package static func sync(folderOf path: String) throws(SystemError) { try sync(folder(of: path)) }

  /// Makes the names in a folder durable.
  ///
  /// - Throws: ``SystemError``.
  package static func sync(_ folder: String) throws(SystemError) {
    let descriptor = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw SystemError(errno) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw SystemError(errno) }
  }
}

/// Follows all links of a path.
///
/// - Parameter path: any path, without NUL.
/// - Returns: the absolute path of the file or folder that it leads to.
/// - Throws: ``SystemError``; a circle of links gives `ELOOP`.
package func realPath(_ path: [UInt8]) throws(SystemError) -> [UInt8] {
  let path = path.map { CChar(bitPattern: $0) } + [0]
  guard let resolved = unsafe realpath(path, nil) else { throw SystemError(errno) }
  defer { unsafe free(resolved) }
  return unsafe Array(UnsafeRawBufferPointer(start: resolved, count: strlen(resolved)))
}

/// Writes all bytes to an open file, with as many calls as needed.
///
/// - Parameters:
///   - bytes: the bytes.
///   - descriptor: the file, which isn't closed.
/// - Throws: ``SystemError``; some of the bytes may be written then.
package func writeAll(_ bytes: [UInt8], to descriptor: CInt) throws(SystemError) {
  var rest = bytes[...]
  while !rest.isEmpty {
    let count = unsafe rest.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
    if count < 0 && errno == EINTR { continue }
    guard count > 0 else { throw SystemError(errno) }
    rest = rest.dropFirst(count)
  }
}

/// The failure of a system call.
package struct SystemError: Error, Equatable, CustomStringConvertible {
  /// The value of `errno`.
  package let code: CInt

  /// An error for a value of `errno`.
  package init(_ code: CInt) { self.code = code }

  /// The system's words for the error.
  package var description: String {
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
      guard let text = buffer.baseAddress,
        unsafe strerror_r(code, text, buffer.count) == 0
      else { return "error \(code)" }
      return unsafe String(cString: text)
    }
  }
}
