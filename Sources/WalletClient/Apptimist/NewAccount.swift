public import ApptimistProtocol

/// A user's description of the account that the service is to make. In version 2 the account is closed to version 1
/// from then on.
public struct NewAccount: Sendable, Hashable {
  /// The name that others find the user by.
  public let name: AccountName
  /// The user's identity at the service's identity provider, which may be empty if there is no provider.
  public let uid: ShortBytes
  /// The proof of the identity, such as an invitation or an ID token, which may be empty likewise.
  public let token: [UInt8]

  /// Makes the description of an account.
  ///
  /// - Parameters:
  ///   - name: 1 to 255 bytes of UTF-8 without control characters.
  ///   - uid: at most 255 bytes.
  ///   - token: at most 8,192 bytes; in version 1 at most 255.
  /// - Returns: the account, or nil if one of the texts breaks these rules.
  public init?(name: String, uid: String = "", token: String = "") {
    guard let name = AccountName(name), let uid = ShortBytes(uid),
      token.utf8.count <= Version2.longestToken
    else { return nil }
    (self.name, self.uid) = (name, uid)
    self.token = Array(token.utf8)
  }
}
