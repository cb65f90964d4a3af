public import ApptimistProtocol
public import Cryptography

/// Forums and events: keys like a user's, made by their author's device.
extension Device {
  /// The roles of users in a forum, beside that of its author.
  public enum ForumRole: Sendable {
    /// Editors write the forum's files as its author does.
    case editors
    /// Moderators get the posts of others, and their own posts go to the subscribers.
    case moderators
    /// Subscribers get the moderators' posts.
    case subscribers

    var filename: Filename {
      switch self {
      case .editors: Filename(.editors)
      case .moderators: Filename(.moderators)
      case .subscribers: Filename(.subscribers)
      }
    }
  }

  /// Makes a forum or event, of which the user is the author.
  ///
  /// - Parameters:
  ///   - name: the name that others find the forum by.
  ///   - keys: the forum's pairs. Its readers need them, unless the service has them (``escrow(_:)``).
  ///   - closesVersion1: whether posts of version 1 are ignored; in version 1 it has no effect.
  /// - Throws: `.forumRefused` if the key is another's, or the user has too many.
  public func makeForum(
    _ name: AccountName, keys: DeviceKeys, closesVersion1: Bool = true
  ) async throws(DeviceError) {
    _ = try await exchange(.makeForum(name, keys, closesVersion1 ? .closed : []))
  }

  /// Deletes a forum with its files; its key can't be used again.
  ///
  /// - Parameter forum: one whose author or editor the user is.
  /// - Throws: `.forumRefused` otherwise.
  public func deleteForum(_ forum: EncryptionPublicKey) async throws(DeviceError) {
    _ = try await exchange(.deleteForum(forum))
  }

  /// Returns the users with a role in a forum.
  ///
  /// - Parameters:
  ///   - role: the role.
  ///   - forum: a forum that the user may read.
  /// - Returns: users' keys; empty if the role was never given.
  /// - Throws: `.file` with the service's code, `.doesNotOpen`.
  public func members(
    _ role: ForumRole, of forum: EncryptionPublicKey
  ) async throws(DeviceError) -> [EncryptionPublicKey] {
    let bytes: [UInt8]
    do throws(DeviceError) {
      bytes = try await read(role.filename, of: forum)
    } catch {
      // A forum without this file has an author; a forum that doesn't exist has none.
      guard case .file(.notFound, _) = error else { throw error }
      _ = try await read(Filename(.author), of: forum)
      return []
    }
    let length = EncryptionPublicKey.byteCount
    return stride(from: 0, to: bytes.count, by: length).compactMap {
      EncryptionPublicKey(bytes[$0..<min($0 + length, bytes.count)])
    }
  }

  /// Returns whether a moderator has written a message, or nil if the forum has no moderators. A reader doesn't believe
  /// that moderators have passed a post on because it came.
  ///
  /// - Parameter message: a message of a forum that the user may read.
  /// - Throws: `.file` with the service's code.
  public func isByModerator(_ message: DeviceMessage) async throws(DeviceError) -> Bool? {
    let moderators = try await members(.moderators, of: message.to)
    return moderators.isEmpty ? nil : moderators.contains(message.from)
  }

  /// Gives a role in a forum to exactly these users.
  ///
  /// - Parameters:
  ///   - role: the role.
  ///   - forum: a forum whose author or editor the user is.
  ///   - users: at most 4,096.
  /// - Throws: `.file` with the service's code; `.interrupted` if the service may have done it or not.
  public func setMembers(
    _ role: ForumRole, of forum: EncryptionPublicKey, to users: [EncryptionPublicKey]
  ) async throws(DeviceError) {
    try await write(users.flatMap(\.bytes), to: role.filename, of: forum)
  }

  /// Gives the service a forum's secret key. From then on the service can read the forum: it opens each post, and boxes
  /// it for each reader, who need not have that key.
  ///
  /// - Parameter forum: the pair of a forum whose author or editor the user is.
  /// - Throws: `.file` with the service's code; `.interrupted` if the service may have done it or not.
  public func escrow(_ forum: EncryptionKeyPair) async throws(DeviceError) {
    let sealed = forum.withSecret { SealedBox.seal($0, to: service.encryptionKey) }
    guard let sealed else { throw .unsendable }
    try await write(sealed, to: Filename(.secret), of: forum.publicKey)
  }

  /// Has the service forget a forum's secret key.
  ///
  /// - Parameter forum: a forum whose author or editor the user is.
  /// - Throws: `.file` with the service's code; `.interrupted` if the service may have done it or not.
  public func endEscrow(of forum: EncryptionPublicKey) async throws(DeviceError) {
    try await write([], to: Filename(.secret), of: forum)
  }
}
