internal import Platform

/// The reason why the repository's folder couldn't be read the last time, which a reload and the watch over the folder both
/// learn, and one of them logs.
final class RepositoryFault: Sendable {
  private let reason = Lock<String?>(nil)

  /// Records a reason.
  ///
  /// - Returns: whether it is another one than the last time.
  @discardableResult func record(_ reason: String) -> Bool {
    self.reason.withLock { last in
      let isNew = last != reason
      last = reason
      return isNew
    }
  }

  /// Records that the folder was read.
  func clear() { reason.withLock { $0 = nil } }
}
