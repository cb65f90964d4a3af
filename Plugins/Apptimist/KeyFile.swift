internal import ApptimistProtocol
internal import Configuration
internal import Cryptography
internal import Glibc
internal import Platform

/// The file with the service's secret keys: made once, never overwritten.
struct KeyFile: Sendable {
  /// The reason for which the keys cannot be read or made, in words and without a key.
  struct Failure: Error, Hashable, CustomStringConvertible {
    let description: String
  }

  let path: String

  /// The longest file that is read, in bytes.
  private static let sizeLimit = 4096

  /// Reads the keys of the file, which is made if there is none; blocks on the disk.
  ///
  /// - Returns: the keys, and whether they were made now.
  /// - Throws: ``Failure``.
  func open() throws(Failure) -> (keys: ServiceKeys, isNew: Bool) {
    if let keys = try read() { return (keys, false) }
    // Another process may be faster.
    let isNew = try make()
    return (try existing(), isNew)
  }

  /// Reads the keys of the file; blocks on the disk.
  ///
  /// - Throws: ``Failure``, also if there is no file.
  func existing() throws(Failure) -> ServiceKeys {
    guard let keys = try read() else { throw Failure(description: "\(path): there are no keys") }
    return keys
  }

  /// Makes the file with new keys, durably; blocks on the disk.
  ///
  /// - Returns: whether it was made; otherwise there is one.
  /// - Throws: ``Failure``; then there is no file, or the whole one.
  func make() throws(Failure) -> Bool {
    let keys = ServiceKeys.generate()
    var text = Self.text(of: keys)
    defer { wipe(&text) }
    do throws(SystemError) {
      return try DurableFile.createOnce(path, text, mode: 0o600)
    } catch { throw failure("cannot be made", "\(error)") }
  }

  // MARK: - Text

  private static let introduction = """
    # The secret keys of this server's Apptimist service. Whoever has them can read what devices send
    # to it, and pose as it. Devices are bound to them: without them nobody can connect any more.

    """

  private static func text(of keys: ServiceKeys) -> [UInt8] {
    var text = [UInt8](introduction.utf8)
    text.reserveCapacity(1024)
    func line(_ name: String, _ secret: [UInt8]) {
      text += [UInt8]("\(name) = ".utf8)
      for byte in secret {
        for digit in [byte >> 4, byte & 0x0f] { text.append(digit + (digit < 10 ? 0x30 : 0x57)) }
      }
      text.append(UInt8(ascii: "\n"))
    }
    keys.encryption.withSecret { line("encryption", $0) }
    keys.authentication.withSeed { line("authentication", $0) }
    keys.storage.withKey { line("storage", $0) }
    return text
  }

  private func parse(_ text: [UInt8]) throws(Failure) -> ServiceKeys {
    func secret(_ name: String) throws(Failure) -> [UInt8] {
      let start = [UInt8]("\(name) = ".utf8)
      let lines = text.split(separator: UInt8(ascii: "\n")).filter { $0.starts(with: start) }
      guard lines.count == 1, let line = lines.first,
        let secret = Hex.decode(line.dropFirst(start.count)), secret.count == 32
      else { throw Failure(description: "\(path): expected one line “\(name) = ” with 64 digits") }
      return secret
    }
    var encryption = try secret("encryption")
    defer { wipe(&encryption) }
    var authentication = try secret("authentication")
    defer { wipe(&authentication) }
    var storage = try secret("storage")
    defer { wipe(&storage) }
    guard let encryption = EncryptionKeyPair(secret: encryption),
      let authentication = AuthenticationKeyPair(seed: authentication),
      let storage = SecretBox(key: storage)
    else { throw Failure(description: "\(path): these are no keys") }
    return ServiceKeys(encryption: encryption, authentication: authentication, storage: storage)
  }

  // MARK: - Disk

  /// Reads the keys of the file; blocks on the disk.
  ///
  /// - Returns: nil if there is no file.
  /// - Throws: ``Failure``, also for a file that others may read.
  func read() throws(Failure) -> ServiceKeys? {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else {
      if errno == ENOENT { return nil }
      throw failure("cannot be read", "\(SystemError(errno))")
    }
    guard status.st_mode & 0o077 == 0 else {
      throw Failure(
        description: "\(path): others may read these secret keys; chmod 600 it, "
          + "and consider who may have read it")
    }
    var text: [UInt8]
    do throws(FileError) { text = try contents(ofFile: path, limit: Self.sizeLimit) } catch {
      throw failure("cannot be read", error.message)
    }
    defer { wipe(&text) }
    return try parse(text)
  }

  private func failure(_ problem: String, _ cause: String) -> Failure {
    Failure(description: "\(path) \(problem): \(cause)")
  }
}

/// The service's keys, the secret halves among them.
struct ServiceKeys: Sendable {
  /// Boxes headers and the data of files.
  let encryption: EncryptionKeyPair
  /// Signs the public half of ``encryption``.
  let authentication: AuthenticationKeyPair
  /// Boxes forums' secrets in the database.
  let storage: SecretBox
  /// Hashes ephemeral keys before they are recorded.
  private let ephemeralHash: KeyedHash
  /// Makes and knows the cursors of lists.
  let cursorHash: KeyedHash
  /// The secret from which the fresh keys of copies of posts follow: 32 bytes.
  let copySecret: [UInt8]
  /// The public half of the keys.
  let identity: ServiceIdentity

  /// Makes new keys.
  static func generate() -> ServiceKeys {
    ServiceKeys(encryption: .generate(), authentication: .generate(), storage: SecretBox())
  }

  /// Takes keys that are kept.
  init(encryption: EncryptionKeyPair, authentication: AuthenticationKeyPair, storage: SecretBox) {
    self.encryption = encryption
    self.authentication = authentication
    self.storage = storage
    identity = ServiceIdentity(encryption: encryption, authentication: authentication)
    func derived(_ purpose: String) -> [UInt8] {
      storage.withKey { KeyedHash(key: $0).hash([UInt8](purpose.utf8)).bytes }
    }
    ephemeralHash = KeyedHash(key: derived("ephemeral keys"))
    cursorHash = KeyedHash(key: derived("cursors"))
    copySecret = derived("copies of posts")
  }

  /// The hash by which an ephemeral key is remembered.
  func hash(ofEphemeral key: EncryptionPublicKey) -> EphemeralKeyHash {
    EphemeralKeyHash(of: key, with: ephemeralHash)
  }
}
