public import ApptimistProtocol

/// A user's description of the account that the service is to make.
public struct NewAccount: Sendable, Hashable {
  /// The name that others find the user by.
  public let name: AccountName
  /// The user's identity at the service's identity provider, which may be empty if there is no provider.
  public let uid: ShortBytes
  /// The proof of the identity, such as an invitation, which may be empty likewise.
  public let token: ShortBytes

  /// Makes the description of an account.
  ///
  /// - Parameters:
  ///   - name: 1 to 255 bytes of UTF-8 without control characters.
  ///   - uid: at most 255 bytes.
  ///   - token: at most 255 bytes.
  /// - Returns: the account, or nil if one of the texts breaks these rules.
  public init?(name: String, uid: String = "", token: String = "") {
    guard let name = AccountName(name), let uid = ShortBytes(uid), let token = ShortBytes(token)
    else { return nil }
    self.name = name
    self.uid = uid
    self.token = token
  }
}
