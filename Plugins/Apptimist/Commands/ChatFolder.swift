internal import ApptimistProtocol
internal import Cryptography
internal import Glibc
internal import Platform
internal import WalletClient

/// The files of `awd wallet chat`: the user's keys, the service's keys, the cursor in the stream, and what is remembered of
/// others. Only their owner can read them.
struct ChatFolder: Sendable {
  private let path: String

  /// Uses a folder, which is made with the first file.
  init(_ path: String) { self.path = path }

  /// Writes the user's keys.
  func keep(_ keys: DeviceKeys) throws(ChatError) {
    var text: [UInt8] = []
    defer { wipe(&text) }
    // An array that grows would leave copies in memory.
    text.reserveCapacity(128)
    keys.encryption.withSecret { text += $0 }
    keys.authentication.withSeed { text += $0 }
    try write(text, to: "keys")
  }

  /// Reads the user's keys, or returns nil if there are none.
  func keys() throws(ChatError) -> DeviceKeys? {
    guard var bytes = try read("keys") else { return nil }
    defer { wipe(&bytes) }
    guard bytes.count == 64 else { throw malformed("keys") }
    var secret = Array(bytes[..<32])
    var seed = Array(bytes[32...])
    defer {
      wipe(&secret)
      wipe(&seed)
    }
    guard let encryption = EncryptionKeyPair(secret: secret),
      let authentication = AuthenticationKeyPair(seed: seed)
    else { throw malformed("keys") }
    return DeviceKeys(encryption: encryption, authentication: authentication)
  }

  /// Reads the service that was used before, or returns nil at the first use.
  func pin() throws(ChatError) -> ServicePin? {
    guard let json = try read("service.json") else { return nil }
    do throws(ServiceDocumentError) {
      return ServicePin(try ServiceDocument(json: json))
    } catch { throw malformed("service.json") }
  }

  /// Writes the service's keys, and its signed versions.
  func keep(_ document: ServiceDocument) throws {
    try write(try document.json(), to: "service.json")
  }

  /// Reads the cursor up to which messages were shown, or returns nil without an account.
  func cursor() throws(ChatError) -> DeviceCursor? {
    guard let text = try text(of: "place") else { return nil }
    guard let cursor = DeviceCursor(text: text) else { throw malformed("place") }
    return cursor
  }

  /// Writes the cursor up to which messages were shown.
  func keep(_ cursor: DeviceCursor) throws(ChatError) {
    try write(Array(cursor.text.utf8), to: "place")
  }

  /// Reads the remembered facts about others.
  func known() throws(ChatError) -> [KnownAccount] {
    let lines = try text(of: "known")?.split(separator: "\n") ?? []
    let accounts = lines.compactMap { KnownAccount(text: String($0)) }
    guard accounts.count == lines.count else { throw malformed("known") }
    return accounts
  }

  /// Writes the remembered facts about another; of too many the oldest are forgotten.
  func keep(_ account: KnownAccount) throws(ChatError) {
    let others = try known().filter { $0.key != account.key }.suffix(Self.mostKnown - 1)
    try write(Array((others + [account]).map { $0.text + "\n" }.joined().utf8), to: "known")
  }

  private static let mostKnown = 5_000

  /// Reads whom the user allows and blocks.
  func people() throws(ChatError) -> PrivateFile {
    guard let json = try read("people") else { return PrivateFile() }
    guard let people = CanonicalJSON.decode(PrivateFile.self, json) else {
      throw malformed("people")
    }
    return people
  }

  /// Writes whom the user allows and blocks.
  func keep(_ people: PrivateFile) throws(ChatError) {
    try write(CanonicalJSON.encode(people), to: "people")
  }

  private func text(of name: String) throws(ChatError) -> String? {
    try read(name).map { String(decoding: $0, as: UTF8.self) }
  }

  // MARK: - Files

  /// Reads a file.
  ///
  /// - Returns: the content, at most 1 MiB, or nil if there is no file.
  private func read(_ name: String) throws(ChatError) -> [UInt8]? {
    let file = unsafe open("\(path)/\(name)", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else {
      if errno == ENOENT { return nil }
      throw failure(name, SystemError(errno))
    }
    defer { close(file) }
    var status = stat()
    guard unsafe fstat(file, &status) == 0 else { throw failure(name, SystemError(errno)) }
    guard name != "keys" || status.st_mode & 0o077 == 0 else {
      throw failure(name, "others may read it; chmod 600 it")
    }
    var content = [UInt8](repeating: 0, count: min(1 << 20, max(0, Int(status.st_size))))
    let count = unsafe content.withUnsafeMutableBytes {
      unsafe Glibc.read(file, $0.baseAddress, $0.count)
    }
    guard count == content.count else { throw failure(name, SystemError(errno)) }
    return content
  }

  /// Replaces a file atomically and durably.
  private func write(_ content: [UInt8], to name: String) throws(ChatError) {
    do throws(SystemError) {
      try DurableFile.makeFolder(path)
      try DurableFile.replace("\(path)/\(name)", content, mode: 0o600)
    } catch { throw failure(name, error) }
  }

  private func malformed(_ name: String) -> ChatError { failure(name, "the file is malformed") }

  private func failure(_ name: String, _ problem: some CustomStringConvertible) -> ChatError {
    ChatError(description: "\(path)/\(name): \(problem)")
  }
}

/// The reason why the chat can't do something.
struct ChatError: Error, CustomStringConvertible {
  let description: String
}
