public import Wire

/// Why a header is not taken.
public enum PDUError: Error, Hashable, Sendable {
  /// A version that isn't spoken here: what follows it can't be read.
  case unknownVersion(UInt8)
  /// A type that the version doesn't have: to be ignored, not to be closed on.
  case unknownType(UInt8)
  /// Too short for its type, or too long.
  case malformed(WireError)
}
