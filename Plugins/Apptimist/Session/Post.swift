package import ApptimistProtocol
internal import Cryptography

/// A message that a user sent.
package struct Post: Sendable {
  package let message: PDU.Message
  /// The header in clear, as it came.
  package let header: [UInt8]
  /// The data as it came, boxed for somebody else.
  package let data: [UInt8]

  /// Takes a message that came; nil if it does not name the user as its sender.
  init?(_ message: PDU.Message, _ received: ReceivedPDU, by user: EncryptionPublicKey) {
    guard message.from == user else { return nil }
    self.message = message
    header = received.header
    data = received.data
  }

  /// The length of header and data, in bytes.
  package var size: Int { header.count + data.count }
}
