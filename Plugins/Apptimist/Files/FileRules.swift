internal import ApptimistProtocol

/// Who may do what with a file (page "Files").
enum FileRules {
  /// Whether an act is permitted, whether or not the file exists.
  ///
  /// - Parameters:
  ///   - act: what is to be done.
  ///   - name: the file's name.
  ///   - kind: whose directory it is.
  ///   - access: what the user is there.
  static func permits(
    _ act: FileRequest.Act, _ name: Filename, in kind: AccountKinds.Kind, with access: Access
  ) -> Bool {
    let mayWrite = !access.isDisjoint(with: [.author, .editor])
    switch (act, name.reserved) {
    case (.read, .secret), (.lock, .author), (.lock, .secret), (.remove, .author),
      (.remove, .secret), (.write, .author):
      return false
    case (.write, .secret): return kind == .forum && mayWrite
    case (.write, _), (.lock, _), (.remove, _): return mayWrite
    case (.read, _):
      switch kind {
      case .user: return mayWrite || !name.isHidden
      case .forum: return !access.isEmpty
      }
    }
  }
}
