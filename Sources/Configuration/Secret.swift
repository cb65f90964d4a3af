/// A password, key or token: text that doesn't appear in descriptions, logs and dumps.
package struct Secret: Sendable {
  /// The text itself.
  package let value: String

  /// Makes a secret of a text.
  package init(_ value: String) { self.value = value }

  /// True if the text is empty.
  package var isEmpty: Bool { value.isEmpty }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The text `***`, or nothing for an empty secret.
  package var description: String { isEmpty ? "" : "***" }
  /// The same as the description.
  package var debugDescription: String { description }
  /// A mirror without children, so that `dump` shows nothing.
  package var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}
