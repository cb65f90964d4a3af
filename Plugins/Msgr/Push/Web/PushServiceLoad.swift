internal import Threading

/// The requests under way to each push service, of which one that doesn't answer is given few.
final class PushServiceLoad: Sendable {
  /// The requests at once to a push service that isn't known to speak HTTP/2, or has failed to answer the last one.
  private static let few = 2
  /// The requests at once to any other.
  private static let many = 100

  private let counts = Lock<[String: Int]>([:])
  /// The push services that have answered over HTTP/2 last.
  private let good = RecentValues<String, Void>(limit: 4096)

  /// Takes a place for a request, unless there are as many as may be.
  ///
  /// - Parameter service: the push service's origin.
  func begin(_ service: String) -> Bool {
    let most = good.value(for: service) == nil ? Self.few : Self.many
    return counts.withLock { counts in
      guard counts[service, default: 0] < most else { return false }
      counts[service, default: 0] += 1
      return true
    }
  }

  /// Gives the place back.
  ///
  /// - Parameters:
  ///   - service: the push service's origin.
  ///   - isGood: whether it has answered over HTTP/2.
  func end(_ service: String, isGood: Bool) {
    counts.withLock { counts in
      let left = counts[service, default: 1] - 1
      counts[service] = left > 0 ? left : nil
    }
    if !isGood {
      good.remove(service)
    } else if good.value(for: service) == nil {
      good.insert((), for: service)
    }
  }
}
