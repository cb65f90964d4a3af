internal import ApptimistProtocol
internal import ApptimistSession

/// The rights of a user in the directory of a user or a forum (page "Files").
struct DirectoryAccess: Hashable, Sendable {
  /// The roles that a user can have in a directory.
  struct Roles: OptionSet, Hashable, Sendable {
    let rawValue: UInt8

    static let author = Roles(rawValue: 1)
    static let editor = Roles(rawValue: 2)
    static let moderator = Roles(rawValue: 4)
    static let subscriber = Roles(rawValue: 8)
  }

  /// Whether it is a forum's directory.
  let isForum: Bool
  let roles: Roles

  /// Whether an act is permitted, whether or not the file exists.
  func permits(_ act: FileRequest.Act, _ name: Filename) -> Bool {
    let mayWrite = !roles.isDisjoint(with: [.author, .editor])
    switch (act, name.reserved) {
    case (.read, .secret), (.lock, .author), (.lock, .secret), (.remove, .author),
      (.remove, .secret), (.write, .author):
      return false
    case (.write, .secret): return isForum && mayWrite
    case (.write, _), (.lock, _), (.remove, _): return mayWrite
    case (.read, _): return isForum ? !roles.isEmpty : mayWrite || !name.isHidden
    }
  }
}
