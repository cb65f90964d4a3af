/// The client, and the account where there is one, for whom the store works.
///
/// Clients take turns, and so do the accounts of one client. What is done for nobody in particular has a turn of its own.
public struct WorkOwner: Sendable, Hashable {
  /// The owner of what the present task writes and reads; nil for nobody.
  @TaskLocal public static var current: WorkOwner?

  @usableFromInline let client: Int
  @usableFromInline let account: Int

  /// Makes an owner, or nil if there is neither a client nor an account.
  ///
  /// - Parameters:
  ///   - client: the network that the client is in, or nil if it has none.
  ///   - account: the account, or something that only this work has; nil if all work for the client is done in order.
  @inlinable
  public init?(client: (some Hashable)?, account: (some Hashable)? = Int?.none) {
    guard let hash = client?.hashValue ?? account?.hashValue else { return nil }
    self.client = hash
    self.account = account?.hashValue ?? 0
  }
}
