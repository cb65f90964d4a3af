/// A password, key or token: text that doesn't appear in descriptions, logs and dumps.
public struct Secret: Sendable {
  /// The text itself.
  public let value: String

  /// Makes a secret of a text.
  public init(_ value: String) { self.value = value }

  /// True if the text is empty.
  public var isEmpty: Bool { value.isEmpty }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The text `***`, or nothing for an empty secret.
  public var description: String { isEmpty ? "" : "***" }
  /// The same as the description.
  public var debugDescription: String { description }
  /// A mirror without children, so that `dump` shows nothing.
  public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}
