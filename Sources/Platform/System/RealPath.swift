internal import Glibc

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
