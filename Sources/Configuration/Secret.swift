/// A password, key or token: text that doesn't show in descriptions, logs and dumps.
public struct Secret: Sendable {
  /// The text itself, for its one use.
  public let value: String

  /// A secret of the given text.
  public init(_ value: String) {
    self.value = value
  }

  /// Whether there is none.
  public var isEmpty: Bool { value.isEmpty }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// `***`, or nothing for an empty secret.
  public var description: String { isEmpty ? "" : "***" }
  /// The same as the description.
  public var debugDescription: String { description }
  /// A mirror without children, so that `dump` shows nothing.
  public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}
