internal import Formats

/// The credentials of a request, not yet checked.
enum RequestCredentials: Sendable {
  /// A name and a password, with the client's network, which failed logins are counted for, and the device that logs in, if
  /// one is named.
  case password(UserName, Password, from: ClientNetwork?, on: DeviceID? = nil)
  /// A name, and the wallet of an account that has no password.
  case wallet(UserName, WalletProof)
  /// A token; another name beside it is refused.
  case token(TokenHash, claiming: UserName?)
}
