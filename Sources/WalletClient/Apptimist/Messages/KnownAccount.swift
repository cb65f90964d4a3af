public import ApptimistProtocol
public import Cryptography

/// A device's memory of a user or forum, so that no service can take it back later.
public struct KnownAccount: Sendable, Hashable {
  /// The user or forum.
  public let key: EncryptionPublicKey
  /// The key of its signatures, as it was seen first; nil before.
  public internal(set) var authenticationKey: AuthenticationPublicKey?
  /// The kind, a user or a forum; nil if no service of version 2 was asked.
  public internal(set) var kind: Version2.User.Kind?
  /// True if it was seen closed to version 1.
  public internal(set) var isClosed = false
  /// True if it was seen that the service holds the forum's secret.
  public internal(set) var isEscrowed = false
  /// True if a message sealed in version 2 has come from there.
  public internal(set) var hasSealed = false

  init(_ key: EncryptionPublicKey) { self.key = key }

  /// Reads what ``text`` was.
  ///
  /// - Returns: nil for anything else.
  public init?(text: String) {
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 4, let key = EncryptionPublicKey(hex: words[0]),
      let kind = UInt8(words[2]), let flags = UInt8(words[3]), flags < 8,
      words[1] == "-" || AuthenticationPublicKey(hex: words[1]) != nil
    else { return nil }
    self.key = key
    authenticationKey = AuthenticationPublicKey(hex: words[1])
    self.kind = Version2.User.Kind(rawValue: kind)
    (isClosed, isEscrowed, hasSealed) = (flags & 1 != 0, flags & 2 != 0, flags & 4 != 0)
  }

  /// The account as printable ASCII, to be stored.
  public var text: String {
    let flags = (isClosed ? 1 : 0) + (isEscrowed ? 2 : 0) + (hasSealed ? 4 : 0)
    return "\(key.hex) \(authenticationKey?.hex ?? "-") \(kind?.rawValue ?? 0) \(flags)"
  }
}
