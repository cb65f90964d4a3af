public import ApptimistProtocol
public import Cryptography
public import Formats

/// The files that the service keeps for users and forums. They are encrypted on the way, and not from the service: an app
/// encrypts content first that the service must not read.
extension Device {
  /// Reads a file.
  ///
  /// - Parameters:
  ///   - name: the file.
  ///   - directory: the user or forum that the file belongs to, or nil for the user.
  /// - Returns: the content.
  /// - Throws: `.file` with the service's code, `.doesNotOpen`.
  public func read(
    _ name: Filename, of directory: EncryptionPublicKey? = nil
  ) async throws(DeviceError) -> [UInt8] {
    content(try await exchange(.file(.read, directory ?? user, name)))
  }

  /// Locks a file and reads it. Nobody else can lock, write or remove the file until this device writes or removes it,
  /// disconnects, or the lease ends. Locking it again renews the lease.
  ///
  /// - Parameters:
  ///   - name: the file, which need not exist.
  ///   - directory: the user or forum that the file belongs to, or nil for the user.
  /// - Returns: the content, empty if there is no file.
  /// - Throws: `.file` with the service's code, such as `.locked`; `.interrupted`, after which nothing is locked.
  public func lock(
    _ name: Filename, of directory: EncryptionPublicKey? = nil
  ) async throws(DeviceError) -> [UInt8] {
    content(try await exchange(.file(.lock, directory ?? user, name)))
  }

  /// Writes a file, and waits until it is on the service's disk.
  ///
  /// - Parameters:
  ///   - content: the whole content.
  ///   - name: the file, which is made if it doesn't exist.
  ///   - directory: the user or forum that the file belongs to, or nil for the user.
  /// - Throws: `.file` with the service's code; `.interrupted` if the file may have been written or not;
  ///   `.unsendable` if the content is too long.
  public func write(
    _ content: [UInt8], to name: Filename, of directory: EncryptionPublicKey? = nil
  ) async throws(DeviceError) {
    guard content.count <= options.dataLimit else { throw .unsendable }
    _ = try await exchange(.file(.write(content), directory ?? user, name))
  }

  /// Removes a file.
  ///
  /// - Parameters:
  ///   - name: the file.
  ///   - directory: the user or forum that the file belongs to, or nil for the user.
  /// - Throws: `.file` with the service's code; `.interrupted` if the file may have been removed or not.
  public func remove(
    _ name: Filename, of directory: EncryptionPublicKey? = nil
  ) async throws(DeviceError) { _ = try await exchange(.file(.remove, directory ?? user, name)) }

  private func content(_ reply: DeviceReply) -> [UInt8] {
    if case .content(let content) = reply { content } else { [] }
  }
}

/// The file in which all devices of a user keep the people whom the user allows and blocks, and related facts. The service
/// keeps it, and can't read it.
public struct PrivateFile: Sendable, Hashable, Codable {
  /// The members of an entry; `time` is that of its last change, in ms since 1970.
  public typealias Entry = [String: JSONValue]

  private static let mark: [UInt8] = [0x61, 0x70, 0x70, 0x74, 0x69, 0x6d, 0x02, 0x10]

  /// The entries by kind, which is `people`, `forums`, `devices` or `files`, and key.
  public private(set) var entries: [String: [String: Entry]] = [:]

  /// Makes a file without entries.
  public init() {}

  /// Reads the file's text, a JSON object of objects of objects.
  ///
  /// - Throws: `DecodingError`.
  public init(from decoder: any Decoder) throws { entries = try .init(from: decoder) }

  /// Writes the file's text.
  ///
  /// - Throws: the encoder's error.
  public func encode(to encoder: any Encoder) throws { try entries.encode(to: encoder) }

  /// Returns an entry, which is empty where there is none.
  public func entry(_ kind: String, _ key: some FixedBytes) -> Entry {
    entries[kind]?[key.hex] ?? [:]
  }

  /// Returns the user's decision about a user or forum: `allowed` or `blocked`, `joined` or `left`, or nil for none yet.
  public func state(of key: EncryptionPublicKey) -> String? {
    (entry("people", key)["state"] ?? entry("forums", key)["state"])?.string
  }

  /// Returns whether the user has compared the number with somebody who signs with this key.
  public func isVerified(_ user: EncryptionPublicKey, _ key: AuthenticationPublicKey) -> Bool {
    let entry = entry("people", user)
    return entry["verified"] == .truth(true) && entry["authentication"]?.string == key.hex
  }

  /// Returns a forum's pair, if the user has received its secret.
  public func secret(of forum: EncryptionPublicKey) -> EncryptionKeyPair? {
    let secret = entry("forums", forum)["secret"]?.string.flatMap { Hex.decode($0.utf8) }
    return secret.flatMap { EncryptionKeyPair(secret: $0) }
  }

  /// Changes members of an entry; the others are kept.
  ///
  /// - Parameters:
  ///   - kind: the entry's kind.
  ///   - key: the entry's key.
  ///   - members: the members.
  ///   - time: ms since 1970, now.
  public mutating func change(
    _ kind: String, _ key: some FixedBytes, _ members: Entry, at time: Double
  ) {
    let old = entry(kind, key)
    let entry = old.merging(members) { $1 }
    entries[kind, default: [:]][key.hex] = entry.merging([
      "time": .number(max(time, Self.time(of: old) + 1))
    ]) { $1 }
  }

  /// Returns both of two states of the file in one: of each entry the one that was changed later, then the one with the
  /// greater text.
  public func merged(with other: PrivateFile) -> PrivateFile {
    var merged = self
    merged.entries.merge(other.entries) { $0.merging($1) { Self.isLater($1, $0) ? $1 : $0 } }
    return merged
  }

  private static func time(of entry: Entry) -> Double {
    if case .number(let time)? = entry["time"] { time } else { 0 }
  }

  private static func isLater(_ one: Entry, _ other: Entry) -> Bool {
    let times = [one, other].map(time)
    if times[0] != times[1] { return times[0] > times[1] }
    let texts = [other, one].map { String(decoding: CanonicalJSON.encode($0), as: UTF8.self).utf16 }
    return texts[0].lexicographicallyPrecedes(texts[1])
  }

  // MARK: - Sealing

  /// Seals the file for the user's own devices.
  ///
  /// - Parameters:
  ///   - pair: the user's pair.
  ///   - service: the service's encryption key.
  ///   - salt: 32 random bytes, which only tests give.
  /// - Returns: the content for the service, or nil if the pair's key is of low order.
  public func sealed(
    by pair: EncryptionKeyPair, at service: EncryptionPublicKey,
    salt: [UInt8] = SecureRandom.bytes(32)
  ) -> [UInt8]? {
    Self.key(pair, service, salt).map { Self.mark + salt + $0.seal(CanonicalJSON.encode(self)) }
  }

  /// Opens what ``sealed(by:at:salt:)`` made.
  ///
  /// - Returns: nil if it was made for another user or service, was changed, or says nothing of the right form.
  public init?(
    opening content: [UInt8], by pair: EncryptionKeyPair, at service: EncryptionPublicKey
  ) {
    guard content.starts(with: Self.mark), content.count >= 40,
      let text = Self.key(pair, service, Array(content[8..<40]))?.open(content[40...]),
      let file = CanonicalJSON.decode(PrivateFile.self, text)
    else { return nil }
    self = file
  }

  private static func key(
    _ pair: EncryptionKeyPair, _ service: EncryptionPublicKey, _ salt: [UInt8]
  ) -> SecretDigest? {
    let start = purpose("private file")
    let name = Filename.people.bytes.bytes
    let end = service.bytes + pair.publicKey.bytes + salt + [UInt8(name.count)] + name
    return SecretDigest(of: [.bytes(start), .agreement(pair, pair.publicKey), .bytes(end)])
  }
}

/// Boxes under the first 32 bytes of a digest that is never made twice, with the next 24 as their nonce.
extension SecretDigest {
  func seal(_ plain: [UInt8]) -> [UInt8] {
    BoxKey(self, at: 0).seal(plain, nonce: reveal(BoxNonce.self, at: 32))
  }

  func open(_ box: ArraySlice<UInt8>) -> [UInt8]? {
    BoxKey(self, at: 0).open(box, nonce: reveal(BoxNonce.self, at: 32))
  }
}

extension Device {
  /// Reads the user's private file, at each login and whenever another device has `changed` it.
  ///
  /// - Returns: the file, without entries if there is none.
  /// - Throws: `.file` with the service's code; `.doesNotOpen` for a file that an app must not overwrite without asking.
  public func privateFile() async throws(DeviceError) -> PrivateFile {
    do throws(DeviceError) {
      return try opened(try await read(.people))
    } catch {
      guard case .file(.notFound, _) = error else { throw error }
      return PrivateFile()
    }
  }

  /// Merges the user's private file with that of the service, writes it there, and notifies the user's other devices.
  ///
  /// - Parameter file: the file as this device has it.
  /// - Returns: the file as it was written.
  /// - Throws: `.file` with the service's code, such as `.locked`; `.doesNotOpen`, `.interrupted`, `.unsendable`.
  public func write(_ file: PrivateFile) async throws(DeviceError) -> PrivateFile {
    let merged = file.merged(with: try opened(try await lock(.people)))
    let pair = participant.keys.encryption
    guard let sealed = merged.sealed(by: pair, at: service.encryptionKey) else { throw .unsendable }
    try await write(sealed, to: .people)
    var content = MessageContent()
    content.changed = Filename.people.text
    try await send(try await seal(content.data, to: user))
    return merged
  }

  private func opened(_ content: [UInt8]) throws(DeviceError) -> PrivateFile {
    if content.isEmpty { return PrivateFile() }
    let pair = participant.keys.encryption
    let service = service.encryptionKey
    guard let file = PrivateFile(opening: content, by: pair, at: service) else {
      throw .doesNotOpen
    }
    return file
  }
}
