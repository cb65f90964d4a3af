internal import Cryptography

/// Who gets what is posted in a forum (page "Forums and events").
enum ForumRouting {
  /// The readers of a post, in no particular order; nil: its sender may not post.
  ///
  /// - Parameters:
  ///   - forum: its reserved files.
  ///   - sender: who posts.
  static func readers(
    of forum: Forum, for sender: EncryptionPublicKey
  ) -> Set<EncryptionPublicKey>? {
    guard forum.moderators.isEmpty else {
      return forum.moderators.contains(sender) ? forum.subscribers : forum.moderators
    }
    let mayPost =
      forum.author == sender || forum.editors.contains(sender)
      || forum.subscribers.contains(sender)
    return mayPost ? forum.subscribers : nil
  }
}
