internal import Glibc
internal import ServiceKit

/// Keeps a second daemon off a data folder: each would miss what the other's sessions are told.
///
/// The system lets go of the lock when the process ends, however it ends.
struct DataFolderLock: ~Copyable {
  private let descriptor: Int32

  /// Takes the lock.
  ///
  /// - Parameter folder: the data folder, which is there.
  /// - Throws: ``CommandError`` if another daemon has it.
  init(_ folder: String) throws(CommandError) {
    let path = folder + "/awd.lock"
    let descriptor = unsafe open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw .refused("cannot open \(path): \(unsafe String(cString: strerror(errno)))")
    }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      close(descriptor)
      throw .refused(
        "another awd serves from the data folder \(folder); "
          + "stop it, or choose another by `data` in [server]")
    }
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }
}
