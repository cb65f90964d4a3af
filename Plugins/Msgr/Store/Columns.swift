package import Storage

// The values of messages as columns.

/// A text that is checked before it is stored.
package protocol StoredText: DatabaseValueConvertible {
  var text: String { get }
  init(stored text: String)
}

extension StoredText {
  /// The text, as TEXT.
  package var databaseValue: DatabaseValue { .text(text) }

  /// Takes a stored text.
  package init?(databaseValue: DatabaseValue) {
    guard case .text(let text) = databaseValue else { return nil }
    self.init(stored: text)
  }
}

extension UserName: StoredText {}
extension ClientID: StoredText {}
extension DeviceID: StoredText {}
extension MessageText: StoredText {}
extension PublishedLink: StoredText {}
extension PublishedPriority: DatabaseValueConvertible {}
extension MessageID: DatabaseValueConvertible {}
