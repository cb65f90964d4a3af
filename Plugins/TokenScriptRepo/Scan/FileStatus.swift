internal import Glibc
internal import Platform

/// The status of a file, as `fstat` gives it.
struct FileStatus: Equatable, Sendable {
  /// The kind of a name in a folder.
  enum Kind: Sendable { case file, folder, link, other }

  /// The kind of the file.
  var kind = Kind.file
  /// The size in bytes.
  let size: Int
  /// The device and the inode: the same for two names of one folder.
  let identity: Identity
  /// The time of the last change of the content, in nanoseconds since 1970.
  let modified: Int64
  /// The time of the last change of the content or the inode, in nanoseconds since 1970.
  let changed: Int64

  /// The device and the inode of a file.
  struct Identity: Hashable, Sendable {
    let device: UInt64
    let inode: UInt64
  }

  /// The time of the last change of the content, in whole seconds.
  var lastModified: Timestamp { Timestamp(seconds: modified / 1_000_000_000) }

  /// Returns whether any later change of the file has another status.
  ///
  /// The clock of a file system may stand still for as long as two seconds, and a change meanwhile can't be told from the
  /// one before.
  ///
  /// - Parameter time: a time before the status was asked for.
  func isSettled(at time: Timestamp) -> Bool {
    let limit = (time.seconds - 2).multipliedReportingOverflow(by: 1_000_000_000)
    return !limit.overflow && max(modified, changed) < limit.partialValue
  }

  /// Converts a time, with the end of the range for times that don't fit.
  private static func nanoseconds(_ time: timespec) -> Int64 {
    let (seconds, overflow) = Int64(time.tv_sec).multipliedReportingOverflow(by: 1_000_000_000)
    guard !overflow else { return time.tv_sec < 0 ? .min : .max }
    let (sum, carried) = seconds.addingReportingOverflow(Int64(time.tv_nsec))
    return carried ? .max : sum
  }
}

extension FileStatus {
  private static let kinds: [mode_t: Kind] = [S_IFREG: .file, S_IFDIR: .folder, S_IFLNK: .link]

  /// Takes over what the system says.
  init(_ status: stat) {
    self.init(
      kind: Self.kinds[status.st_mode & S_IFMT] ?? .other, size: Int(status.st_size),
      identity: Identity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino)),
      modified: Self.nanoseconds(status.st_mtim), changed: Self.nanoseconds(status.st_ctim))
  }
}
