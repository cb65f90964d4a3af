internal import ApptimistProtocol

/// The rights of a user in the directory of a user or a forum (page "Files").
struct DirectoryAccess: Hashable, Sendable {
  /// True if it is a forum's directory.
  let isForum: Bool
  /// True if the user is the author or an editor.
  let mayWrite: Bool
  /// True if the user has any role: author, editor, moderator or subscriber.
  let isMember: Bool

  /// Returns whether an act is permitted, whether or not the file exists.
  func permits(_ act: FileRequest.Act, _ name: Filename) -> Bool {
    switch (act, name.reserved) {
    case (.read, .secret), (.lock, .author), (.lock, .secret), (.remove, .author),
      (.remove, .secret), (.write, .author):
      return false
    case (.write, .secret): return isForum && mayWrite
    case (.write, _), (.lock, _), (.remove, _): return mayWrite
    case (.read, _): return isForum ? isMember : mayWrite || !name.isHidden
    }
  }
}
