public import Formats

/// The reason for which a header is not accepted.
public enum PDUError: Error, Hashable, Sendable {
  /// The version is not spoken here, and nothing behind it can be read.
  case unknownVersion(UInt8)
  /// The version has no such type; the PDU is to be ignored.
  case unknownType(UInt8)
  /// The header is too short for its type, or too long.
  case malformed(WireError)
}
