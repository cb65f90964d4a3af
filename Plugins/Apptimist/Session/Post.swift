internal import ApptimistProtocol
internal import Cryptography

/// A message that a user sent.
struct Post: Sendable {
  /// The device that sent it.
  enum Origin: Hashable, Sendable {
    case version1
    /// A device of version 2, which knows the request by a number; posts to forums are signed with the key.
    case version2(request: UInt32, signer: AuthenticationPublicKey)
  }

  let message: PDU.Message
  /// The header of version 1 in clear.
  let header: [UInt8]
  /// The data as it came, boxed for somebody else.
  let data: [UInt8]
  let origin: Origin

  /// Takes a message that came; nil if it does not name the user as its sender.
  init?(_ message: PDU.Message, _ received: ReceivedPDU, by user: EncryptionPublicKey) {
    guard message.from == user else { return nil }
    self.message = message
    header = received.header
    data = received.data
    origin = .version1
  }

  /// Takes a message that a device of version 2 sent; nil if it does not name the user as its sender.
  init?(_ received: ReceivedRequest, by login: AccountLogin) {
    guard case .message(let message) = received.body, message.from == login.user else { return nil }
    self.message = message
    header = PDU.message(message).encoded()
    data = received.data
    origin = .version2(request: received.request.number, signer: login.authenticationKey)
  }

  /// The length of header and data, in bytes.
  var size: Int { header.count + data.count }
}
