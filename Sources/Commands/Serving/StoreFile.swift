internal import Glibc
internal import Synchronization

/// The file that the store was opened at.
///
/// A file that is moved or deleted meanwhile takes writes as before, but the next start doesn't find them. So somebody has to
/// notice while it can be put back.
final class StoreFile: Sendable {
  private struct Identity: Equatable {
    let device: dev_t
    let inode: ino_t
  }

  /// The path, or nil if the store is no file.
  let path: String?
  private let opened: Identity?
  private let gone = Atomic(false)

  /// Remembers which file is at a path.
  init(at path: String?) {
    self.path = path
    opened = path.flatMap { Self.identity(of: $0) }
  }

  /// Whether another file was at the path at the last look, or none. It costs one load.
  var isGone: Bool { gone.load(ordering: .relaxed) }

  /// Looks at the path again; blocks on the disk.
  func update() {
    guard let path, let opened else { return }
    let present = Self.identity(of: path)
    // A disk that fails says nothing about the file.
    guard present != nil || errno == ENOENT || errno == ENOTDIR else { return }
    gone.store(present != opened, ordering: .relaxed)
  }

  private static func identity(of path: String) -> Identity? {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { return nil }
    return Identity(device: status.st_dev, inode: status.st_ino)
  }
}
