internal import Configuration
internal import Cryptography
internal import JSONWebTokens

extension SigningKey {
  /// The longest file of a key, in bytes.
  private static let sizeLimit = 64 << 10

  /// Reads a key from a file; blocks on the disk.
  ///
  /// - Parameter path: the path of a `.p8` file: a PKCS #8 key on P-256 without a password in PEM.
  /// - Throws: ``PushSetupError`` that names the file and its fault.
  static func read(from path: String) throws(PushSetupError) -> SigningKey {
    let pem: [UInt8]
    do throws(FileError) {
      pem = try contents(ofFile: path, limit: Self.sizeLimit)
    } catch {
      throw PushSetupError(message: "\(path): \(error.message)")
    }
    guard let key = (try? P256KeyPair(pem: pem)).flatMap(SigningKey.init) else {
      throw PushSetupError(message: "\(path): no PEM key on P-256 without a password")
    }
    return key
  }
}
