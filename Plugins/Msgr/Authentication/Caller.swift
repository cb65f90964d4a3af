internal import Cryptography

/// A user whose credentials were found good.
///
/// It holds what they were compared with, so that the transaction that does the work can tell whether that still stands.
enum Caller: Sendable {
  /// A user who gave a password, and the stored hash that the password was verified against.
  case password(UserName, PasswordHash)
  /// A user without a password whose wallet has signed, once.
  case wallet(UserName, WalletProof)
  /// A user who gave a token.
  case token(BoundToken)

  /// The name of the account.
  var name: UserName {
    switch self {
    case .password(let name, _), .wallet(let name, _): name
    case .token(let token): token.name
    }
  }

  /// The device of the token, if the caller gave one.
  var device: DeviceID? {
    switch self {
    case .password, .wallet: nil
    case .token(let token): token.device
    }
  }
}

/// A token with the account and the device that it was made for, which stay the same as long as it lives.
struct BoundToken: Hashable, Sendable {
  let hash: TokenHash
  let name: UserName
  let device: DeviceID
}
