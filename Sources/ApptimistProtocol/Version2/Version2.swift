/// Version 2 of the protocol: its handshake, boxes, PDUs, proofs and sealed messages.
///
/// The parts that it shares with version 1 are elsewhere: ``PDU/Message`` and its like, ``MessageID``, names and errors.
public enum Version2 {
  /// The first byte of every header.
  public static let number: UInt8 = 2
  /// The WebSocket subprotocol by which a device asks for this version, and a service takes it.
  public static let subprotocol = "apptimist.2"
  /// The longest token of `new`, in bytes.
  public static let longestToken = 8_192

  /// The bytes that begin whatever is hashed or signed for one purpose.
  static func label(_ purpose: String) -> [UInt8] { [UInt8]("apptimist.2 \(purpose)".utf8) + [0] }
}
