internal import ApptimistProtocol
internal import Cryptography

/// The subject of a query that a session has asked for its user. Large cases are indirect, so that
/// sessions stay small.
enum UserRequest {
  case posts(Posting)
  indirect case truncation(MessageID)
  case vouchers(of: EncryptionPublicKey)
  case search
  /// A request about a file.
  indirect case file(PDU)
  /// A change that the device isn't told.
  case other
}
