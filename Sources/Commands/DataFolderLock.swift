internal import ServiceKit
internal import Glibc

/// The right to serve from a data folder, which one daemon at a time has: sessions of a second one would miss events of
/// the first.
///
/// The system releases the lock when the process ends, however it ends.
struct DataFolderLock: ~Copyable {
  private let descriptor: Int32

  /// The file that is locked.
  ///
  /// - Parameter folder: the data folder.
  static func path(in folder: String) -> String { folder + "/awd.lock" }

  /// Takes the lock.
  ///
  /// - Parameter folder: the data folder, which exists.
  /// - Throws: ``CommandError`` if another daemon has the lock.
  init(_ folder: String) throws(CommandError) {
    let path = Self.path(in: folder)
    let descriptor = unsafe open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw .refused("cannot open \(path): \(unsafe String(cString: strerror(errno)))")
    }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      close(descriptor)
      throw .refused(
        "another awd serves from the data folder \(folder); "
          + "stop it, or choose another folder with `data` in [server]")
    }
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }
}
