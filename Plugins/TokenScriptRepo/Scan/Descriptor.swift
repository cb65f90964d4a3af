internal import Glibc
internal import SystemCalls
internal import Wire

/// An open file or folder, closed at the end of its scope.
///
/// Files are opened relative to a folder's descriptor, without following a link in the last segment and without
/// blocking on a FIFO or a device.
struct Descriptor: ~Copyable {
  private let number: CInt

  /// Opens a folder from the configuration, following links.
  ///
  /// - Throws: ``SystemError`` if there is no such folder or it may not be read.
  init(folder path: String) throws(SystemError) {
    number = unsafe Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard number >= 0 else { throw SystemError(errno) }
  }

  /// Reads a file from the configuration, following links.
  ///
  /// - Parameters:
  ///   - path: the path of the file.
  ///   - limit: the largest number of bytes to read.
  /// - Returns: the bytes.
  /// - Throws: ``SystemError``.
  static func contents(ofFile path: String, limit: Int) throws(SystemError) -> [UInt8] {
    let opened = unsafe Glibc.open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
    guard opened >= 0 else { throw SystemError(errno) }
    let file = Descriptor(opened)
    return try file.read(min(try file.status().size, limit)).array
  }

  private init(_ number: CInt) { self.number = number }

  deinit { close(number) }

  /// Opens a file or folder in this folder.
  ///
  /// - Parameters:
  ///   - name: one segment.
  ///   - isFolder: whether it must be a folder.
  /// - Returns: the open file or folder.
  /// - Throws: ``SystemError``; for a link its code is `ELOOP`, or `ENOTDIR` if it must be a folder.
  func open(_ name: ArraySlice<UInt8>, isFolder: Bool = false) throws(SystemError) -> Descriptor {
    var flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC
    if isFolder { flags |= O_DIRECTORY }
    let path = name.map { CChar(bitPattern: $0) } + [0]
    let opened = unsafe openat(number, path, flags)
    guard opened >= 0 else { throw SystemError(errno) }
    return Descriptor(opened)
  }

  /// Returns the file's present status.
  ///
  /// - Throws: ``SystemError``.
  func status() throws(SystemError) -> FileStatus {
    var status = stat()
    guard unsafe fstat(number, &status) == 0 else { throw SystemError(errno) }
    return FileStatus(status)
  }

  /// Reads bytes from the start of the file.
  ///
  /// - Parameter count: the number of bytes.
  /// - Returns: that many bytes, or fewer if the file ends before.
  /// - Throws: ``SystemError``.
  func read(_ count: Int) throws(SystemError) -> Bytes {
    try unsafe Bytes(capacity: count) { buffer throws(SystemError) in
      var filled = 0
      while filled < count {
        let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
        let got = unsafe pread(number, rest.baseAddress, rest.count, filled)
        if got < 0 && errno == EINTR { continue }
        if got < 0 { throw SystemError(errno) }
        if got == 0 { break }
        filled += got
      }
      return filled
    }
  }

  /// Returns the names in this folder with their kinds, in the order of their bytes and without hidden names.
  ///
  /// - Throws: ``SystemError``.
  func entries() throws(SystemError) -> [(name: [UInt8], kind: FileStatus.Kind)] {
    // The stream closes the descriptor that it is given, so it gets one of its own.
    let copy = unsafe openat(number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard copy >= 0 else { throw SystemError(errno) }
    guard let stream = unsafe fdopendir(copy) else {
      let error = SystemError(errno)
      close(copy)
      throw error
    }
    defer { unsafe closedir(stream) }
    var entries: [(name: [UInt8], kind: FileStatus.Kind)] = []
    while true {
      errno = 0
      guard let entry = unsafe readdir(stream) else {
        if errno != 0 { throw SystemError(errno) }
        break
      }
      let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        unsafe Array(bytes.prefix { $0 != 0 })
      }
      guard name.first != UInt8(ascii: ".") else { continue }
      let type = unsafe entry.pointee.d_type
      entries.append((name, try kind(of: name, type: type)))
    }
    return entries.sorted { $0.name.lexicographicallyPrecedes($1.name) }
  }

  /// Returns the kind of a name, and asks the file system if it did not tell with the name.
  private func kind(of name: [UInt8], type: UInt8) throws(SystemError) -> FileStatus.Kind {
    switch Int(type) {
    case Int(DT_REG): return .file
    case Int(DT_DIR): return .folder
    case Int(DT_LNK): return .link
    case Int(DT_UNKNOWN):
      var status = stat()
      let path = name.map { CChar(bitPattern: $0) } + [0]
      guard unsafe fstatat(number, path, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return .other }
      return FileStatus(status).kind
    default: return .other
    }
  }
}

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
    fileprivate let device: UInt64
    fileprivate let inode: UInt64
  }

  fileprivate init(_ status: stat) {
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

  /// Converts a time, with the end of the range for times that don't fit.
  private static func nanoseconds(_ time: timespec) -> Int64 {
    let (seconds, overflow) = Int64(time.tv_sec).multipliedReportingOverflow(by: 1_000_000_000)
    guard !overflow else { return time.tv_sec < 0 ? .min : .max }
    let (sum, carried) = seconds.addingReportingOverflow(Int64(time.tv_nsec))
    return carried ? .max : sum
  }
}
