internal import Glibc

/// The state of the file system that a path lies on.
package struct DiskSpace: Sendable {
  /// The bytes that an ordinary user may still write, at most `Int.max`.
  package let freeBytes: Int
  /// Whether the file system may only be read.
  package let isReadOnly: Bool

  /// Queries the system, which may block; nil if it doesn't know.
  package init?(at path: String) {
    var status = statvfs()
    guard unsafe statvfs(path, &status) == 0 else { return nil }
    let (bytes, overflows) = UInt64(status.f_bavail).multipliedReportingOverflow(
      by: UInt64(status.f_frsize))
    freeBytes = overflows ? .max : Int(clamping: bytes)
    isReadOnly = status.f_flag & UInt(ST_RDONLY) != 0
  }
}
