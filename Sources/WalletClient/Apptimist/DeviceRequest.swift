internal import ApptimistProtocol
internal import Cryptography

/// A request to the service: the PDUs to send, and the kind of reply that ends it.
///
/// Much of the protocol has no reply. Since the service does everything in order, a search is sent behind such a PDU:
/// its reply tells that what came before it is done, on disk.
struct DeviceRequest {
  /// A PDU and its boxed data.
  struct Part: Equatable {
    let pdu: PDU
    var data: [UInt8] = []
  }

  let parts: [Part]
  /// The reply that ends the request, of which nothing has come.
  let reply: PartialReply
  /// Whether it may be sent again when it isn't known whether it was done.
  let isRepeatable: Bool

  init(_ parts: [Part], expecting reply: PartialReply, isRepeatable: Bool = true) {
    self.parts = parts
    self.reply = reply
    self.isRepeatable = isRepeatable
  }

  /// Makes a request about a file.
  init(file pdu: PDU, data: [UInt8] = [], isRepeatable: Bool) {
    self.init([Part(pdu: pdu, data: data)], expecting: .file(pdu), isRepeatable: isRepeatable)
  }

  /// Makes a request of a PDU without a reply and a search for a user behind it.
  init(_ pdu: PDU, data: [UInt8] = [], then key: EncryptionPublicKey) {
    self.init(
      [Part(pdu: pdu, data: data), Part(pdu: .searchByKey(PDU.SearchByKey(key: key)))],
      expecting: .user(key))
  }

  /// The bytes that it takes on the wire, roughly.
  var cost: Int { parts.reduce(0) { $0 + $1.data.count + 128 } }
}
