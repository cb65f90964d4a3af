internal import MsgrMessages
internal import Threading

/// The requests under way to push services and for users. Few are made at once to a push service that doesn't answer, to all
/// such ones together, and for one user, as anybody may name as many push services as they like.
final class PushServiceLoad: Sendable {
  /// The requests at once to a push service that doesn't speak HTTP/2, or hasn't answered the last one.
  private static let few = 2
  /// The requests at once to any other.
  private static let many = 100
  /// The requests at once to all push services together that haven't answered the last one.
  private static let doubtful = 100
  /// The requests at once for one user.
  private static let ofUser = 8

  /// The place of a request.
  struct Place: Sendable {
    fileprivate let service: String
    fileprivate let user: UserName
    fileprivate let isDoubtful: Bool
  }

  private struct Counts {
    var services: [String: Int] = [:]
    var users: [UserName: Int] = [:]
    var doubtful = 0
  }

  private let counts = Lock(Counts())
  /// The push services that have answered the last request, and whether over HTTP/2.
  private let answering = RecentValues<String, Bool>(limit: 4096)

  /// Takes a place for a request, unless there are as many as may be.
  ///
  /// - Parameters:
  ///   - service: the push service's origin.
  ///   - user: the user whose device is pushed to.
  func begin(_ service: String, for user: UserName) -> Place? {
    let speaksHTTP2 = answering.value(for: service)
    let isDoubtful = speaksHTTP2 == nil
    return counts.withLock { counts in
      guard counts.services[service, default: 0] < (speaksHTTP2 == true ? Self.many : Self.few),
        counts.users[user, default: 0] < Self.ofUser,
        !isDoubtful || counts.doubtful < Self.doubtful
      else { return nil }
      counts.services[service, default: 0] += 1
      counts.users[user, default: 0] += 1
      if isDoubtful { counts.doubtful += 1 }
      return Place(service: service, user: user, isDoubtful: isDoubtful)
    }
  }

  /// Gives the place back.
  ///
  /// - Parameters:
  ///   - place: the place.
  ///   - speaksHTTP2: whether the push service has answered over HTTP/2, or nil if it hasn't answered.
  func end(_ place: Place, speaksHTTP2: Bool?) {
    counts.withLock { counts in
      Self.decrease(&counts.services[place.service])
      Self.decrease(&counts.users[place.user])
      if place.isDoubtful { counts.doubtful -= 1 }
    }
    let before = answering.value(for: place.service)
    guard speaksHTTP2 != before else { return }
    if let speaksHTTP2 {
      answering.insert(speaksHTTP2, for: place.service)
    } else {
      answering.remove(place.service)
    }
  }

  private static func decrease(_ count: inout Int?) {
    count = if let before = count, before > 1 { before - 1 } else { nil }
  }
}
