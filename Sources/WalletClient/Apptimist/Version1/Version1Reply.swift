internal import ApptimistProtocol
internal import Cryptography

/// The service's reply to a ``Version1Request``.
enum Version1Reply: Equatable {
  case users([PDU.User])
  case vouchers([EncryptionPublicKey])
  case file(ErrorCode, box: [UInt8])
  case truncated(Bool)
}
