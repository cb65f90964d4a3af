/// Why bytes don't have the form that was asked of them.
public struct WireError: Error, Hashable, Sendable {
  /// What is wrong.
  public enum Reason: Hashable, Sendable {
    /// A field ends after the last byte.
    case truncated
    /// Bytes follow the last field.
    case leftOver
  }

  /// What is wrong.
  public let reason: Reason
  /// Where: how many bytes come before the field that is cut short, or before the first left over.
  public let offset: Int

  /// An error.
  public init(_ reason: Reason, at offset: Int) {
    self.reason = reason
    self.offset = offset
  }
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
