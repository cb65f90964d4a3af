internal import Platform

/// The digests of what a node has in files although every node that shares the store must have the same, such as a folder
/// of TokenScripts. The node shows them to the others in the store, and `awd check` compares them.
package final class NodeContents: Sendable {
  private let digests = Lock<[String: [UInt8]]>([:])

  package init() {}

  /// Records the digest of what a key of the configuration names.
  ///
  /// - Parameter key: the full key, such as `tokenscript.repository`.
  package func record(_ digest: [UInt8], of key: String) { digests.withLock { $0[key] = digest } }

  /// The present digests by the keys.
  package var current: [String: [UInt8]] { digests.withLock(\.self) }
}
