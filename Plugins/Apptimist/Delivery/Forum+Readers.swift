internal import Cryptography

extension Forum {
  /// The readers of a post (page "Forums and events").
  ///
  /// - Parameter sender: the user who posts.
  /// - Returns: the readers in no particular order, or nil if the sender may not post.
  func readers(for sender: EncryptionPublicKey) -> Set<EncryptionPublicKey>? {
    guard moderators.isEmpty else { return moderators.contains(sender) ? subscribers : moderators }
    let mayPost = author == sender || editors.contains(sender) || subscribers.contains(sender)
    return mayPost ? subscribers : nil
  }
}
