/// A reason for which bytes don't have the expected form.
public struct WireError: Error, Hashable, Sendable {
  /// The kind of the error.
  public enum Reason: Hashable, Sendable {
    /// A field ends after the last byte.
    case truncated
    /// Bytes follow the last field.
    case leftOver
  }

  /// The kind of the error.
  public let reason: Reason
  /// The number of bytes before the field that is cut short, or before the first one left over.
  public let offset: Int

  /// Makes an error.
  public init(_ reason: Reason, at offset: Int) { (self.reason, self.offset) = (reason, offset) }
}

extension WireError: CustomStringConvertible {
  /// The reason and the place, without any of the bytes.
  public var description: String {
    switch reason {
    case .truncated: "cut short in the field at byte \(offset)"
    case .leftOver: "bytes left over from byte \(offset) on"
    }
  }
}
