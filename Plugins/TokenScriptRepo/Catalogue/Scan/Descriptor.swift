internal import Glibc
internal import Platform
internal import Formats

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
  ///   - limit: the largest number of bytes to read.
  /// - Returns: the bytes.
  /// - Throws: ``SystemError``.
  static func contents(ofFile path: String, limit: Int = 1 << 20) throws(SystemError) -> [UInt8] {
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

  /// Returns the status of a name in this folder, of a link its own.
  ///
  /// - Throws: ``SystemError``.
  func status(of name: [UInt8]) throws(SystemError) -> FileStatus {
    var status = stat()
    let path = name.map { CChar(bitPattern: $0) } + [0]
    guard unsafe fstatat(number, path, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
      throw SystemError(errno)
    }
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
      entries.append((name, kind(of: name, type: type)))
    }
    return entries.sorted { $0.name.lexicographicallyPrecedes($1.name) }
  }

  /// Returns the kind of a name, with a call of the file system if the entry doesn't have it.
  private func kind(of name: [UInt8], type: UInt8) -> FileStatus.Kind {
    switch Int(type) {
    case Int(DT_REG): return .file
    case Int(DT_DIR): return .folder
    case Int(DT_LNK): return .link
    case Int(DT_UNKNOWN): return (try? status(of: name).kind) ?? .other
    default: return .other
    }
  }
}
