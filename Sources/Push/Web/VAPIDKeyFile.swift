internal import Configuration
package import Cryptography
internal import Glibc
internal import Platform

/// The file with the key that pushes to browsers are signed with: made once, never replaced, as subscriptions are bound to
/// it.
struct VAPIDKeyFile: Sendable {
  let path: String

  /// Reads the key, which is made if there is none; blocks on the disk.
  ///
  /// - Returns: the key, and whether it was made now.
  /// - Throws: ``PushSetupError`` that names the file and its fault.
  func open() throws(PushSetupError) -> (pair: P256KeyPair, isNew: Bool) {
    let isNew = unsafe access(path, F_OK) == 0 ? false : try make()
    return (try .read(from: path), isNew)
  }

  /// Makes the file, durably and whole.
  ///
  /// - Returns: whether it was made; otherwise another process was faster.
  private func make() throws(PushSetupError) -> Bool {
    guard var pem = (try? P256KeyPair())?.pem else {
      throw PushSetupError(message: "\(path): no key on P-256 can be made")
    }
    defer { wipe(&pem) }
    do throws(SystemError) {
      try DurableFile.makeFolder(DurableFile.folder(of: path))
      return try DurableFile.createOnce(path, pem, mode: 0o600)
    } catch { throw PushSetupError(message: "\(path) cannot be made: \(error)") }
  }
}

/// Returns the content of a file with a key, of 64 KiB at most; blocks on the disk.
///
/// - Throws: ``PushSetupError`` that names the file and its fault.
func contents(ofKeyFile path: String) throws(PushSetupError) -> [UInt8] {
  do throws(FileError) {
    return try contents(ofFile: path, limit: 64 << 10)
  } catch { throw PushSetupError(message: "\(path): \(error.message)") }
}

extension P256KeyPair {
  /// Reads a pair from a file; blocks on the disk.
  ///
  /// - Parameter path: the path of a PKCS #8 key on P-256 without a password in PEM, such as Apple's `.p8` files.
  /// - Throws: ``PushSetupError`` that names the file and its fault.
  package static func read(from path: String) throws(PushSetupError) -> P256KeyPair {
    var pem = try contents(ofKeyFile: path)
    defer { wipe(&pem) }
    do throws(P256KeyPair.Unusable) {
      return try P256KeyPair(pem: pem)
    } catch { throw PushSetupError(message: "\(path): no PEM key on P-256 without a password") }
  }
}
