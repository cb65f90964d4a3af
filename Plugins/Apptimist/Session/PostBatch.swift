/// Posts that came while others are being queued, in order: they are queued together next.
struct PostBatch: Sendable {
  private(set) var posts: [Post] = []
  private var bytes = 0

  var isEmpty: Bool { posts.isEmpty }

  /// Adds a post, if the limits allow it.
  ///
  /// - Returns: whether it was added.
  mutating func add(_ post: Post, _ limits: SessionLimits) -> Bool {
    let size = post.header.count + post.data.count
    guard posts.count < limits.batchPosts, bytes + size <= limits.batchBytes else { return false }
    posts.append(post)
    bytes += size
    return true
  }

  /// Gives the posts away.
  mutating func take() -> [Post] {
    defer { self = PostBatch() }
    return posts
  }
}
