public import ApptimistProtocol

/// What a user tells the service once, to get an account.
public struct NewAccount: Sendable, Hashable {
  /// The name that others find the user by.
  public let name: AccountName
  /// Who the user is at the service's identity provider; may be empty where it asks nobody.
  public let uid: ShortBytes
  /// What proves that, such as an invitation; may be empty likewise.
  public let token: ShortBytes

  /// An account.
  ///
  /// - Parameters:
  ///   - name: 1 to 255 bytes of UTF-8 without control characters.
  ///   - uid: at most 255 bytes.
  ///   - token: at most 255 bytes.
  /// - Returns: nil if one of them is none.
  public init?(name: String, uid: String = "", token: String = "") {
    guard let name = AccountName(name), let uid = ShortBytes(uid), let token = ShortBytes(token)
    else { return nil }
    self.name = name
    self.uid = uid
    self.token = token
  }
}
