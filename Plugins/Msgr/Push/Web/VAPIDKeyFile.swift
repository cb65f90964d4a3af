internal import Configuration
internal import Cryptography
internal import Glibc
internal import SystemCalls

/// The file with the key that pushes to browsers are signed with: made once, never replaced, as subscriptions are bound to
/// it.
struct VAPIDKeyFile: Sendable {
  /// The longest file, in bytes.
  private static let sizeLimit = 4096

  let path: String

  /// Reads the key, which is made if there is none; blocks on the disk.
  ///
  /// - Returns: the key, and whether it was made now.
  /// - Throws: ``PushSetupError`` that names the file and its fault.
  func open() throws(PushSetupError) -> (pair: P256KeyPair, isNew: Bool) {
    let isNew = unsafe access(path, F_OK) == 0 ? false : try make()
    return (try existing(), isNew)
  }

  /// Reads the key; blocks on the disk.
  ///
  /// - Throws: ``PushSetupError``, also if there is no file.
  func existing() throws(PushSetupError) -> P256KeyPair {
    var pem: [UInt8]
    do throws(FileError) {
      pem = try contents(ofFile: path, limit: Self.sizeLimit)
    } catch {
      throw PushSetupError(message: "\(path): \(error.message)")
    }
    defer { wipe(&pem) }
    do throws(P256KeyPair.Unusable) {
      return try P256KeyPair(pem: pem)
    } catch {
      throw PushSetupError(message: "\(path): no PEM key on P-256 without a password")
    }
  }

  /// Makes the file, durably and whole.
  ///
  /// - Returns: whether it was made; otherwise another process was faster.
  private func make() throws(PushSetupError) -> Bool {
    guard var pem = (try? P256KeyPair())?.pem else {
      throw PushSetupError(message: "\(path): no key on P-256 can be made")
    }
    defer { wipe(&pem) }
    let temporary = "\(path).\(getpid()).new"
    unsafe unlink(temporary)
    defer { unsafe unlink(temporary) }
    do throws(SystemError) {
      try DurableFile.makeFolder(DurableFile.folder(of: path))
      try DurableFile.create(temporary, pem, mode: 0o600)
      // A link, unlike a new name, never takes the place of what is there.
      guard unsafe link(temporary, path) == 0 else { throw SystemError(errno) }
      try DurableFile.sync(folderOf: path)
    } catch {
      if error.code == EEXIST { return false }
      throw PushSetupError(message: "\(path) cannot be made: \(error)")
    }
    return true
  }
}
