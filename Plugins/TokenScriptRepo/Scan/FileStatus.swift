internal import Glibc
internal import Time

/// The status of a file, as `fstat` gives it.
struct FileStatus: Equatable, Sendable {
  /// The kind of a name in a folder.
  enum Kind: Sendable { case file, folder, link, other }

  /// The kind of the file.
  let kind: Kind
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

  /// Makes the status of a regular file.
  ///
  /// - Parameters:
  ///   - size: the size in bytes.
  ///   - identity: the device and the inode.
  ///   - modified: the time of the last change of the content, in nanoseconds since 1970.
  ///   - changed: the time of the last change of the content or the inode, in nanoseconds since 1970.
  init(size: Int, identity: Identity, modified: Int64, changed: Int64) {
    kind = .file
    self.size = size
    self.identity = identity
    self.modified = modified
    self.changed = changed
  }

  /// Takes over what the system says.
  init(_ status: stat) {
    switch status.st_mode & S_IFMT {
    case S_IFREG: kind = .file
    case S_IFDIR: kind = .folder
    case S_IFLNK: kind = .link
    default: kind = .other
    }
    size = Int(status.st_size)
    identity = Identity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
    modified = Self.nanoseconds(status.st_mtim)
    changed = Self.nanoseconds(status.st_ctim)
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
