internal import Configuration
internal import Cryptography

extension ES256Key {
  /// The longest file of a key, in bytes.
  private static let sizeLimit = 64 << 10

  /// Reads a key from a file; blocks on the disk.
  ///
  /// - Parameter path: the path of a `.p8` file, as ``init(pem:)`` takes it.
  /// - Throws: ``PushSetupError`` that names the file and what is wrong with it.
  init(file path: String) throws(PushSetupError) {
    let pem: [UInt8]
    do throws(FileError) {
      pem = try contents(ofFile: path, limit: Self.sizeLimit)
    } catch {
      throw PushSetupError(message: "\(path): \(error.message)")
    }
    do throws(Unreadable) {
      try self.init(pem: pem)
    } catch {
      throw PushSetupError(message: "\(path): no PEM key on P-256 without a password")
    }
  }
}
