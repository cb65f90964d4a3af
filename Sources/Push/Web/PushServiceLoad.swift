internal import Budgets
internal import Platform

/// The requests under way to push services and for users. As anybody may name many push services, few requests are made at
/// once to one that doesn't answer, to all such ones together, and for one account. When all places are taken, the user that
/// holds most of them loses one to a user that holds fewer.
final class PushServiceLoad: Sendable {
  /// The requests at once.
  static let all = 500
  /// The requests at once to a push service that doesn't speak HTTP/2, or hasn't answered the last one.
  private static let few = 2
  /// The requests at once to any other.
  private static let many = 100
  /// The requests at once to all push services together that haven't answered the last one.
  private static let doubtful = 100
  /// The requests at once for one account.
  private static let ofUser = 8

  /// The place of a request, which is lost if another user's needs it.
  struct Place: Sendable {
    fileprivate let service: String
    fileprivate let request: PushRequest
    fileprivate let holdings: [Holding<PushOwner>]

    /// True if the place was given to another user.
    var isLost: Bool { request.isLost }

    /// Does something that is cancelled when the place is lost.
    func perform<Value: Sendable>(
      _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
      let task = Task { try await body() }
      request.begin { task.cancel() }
      return try await withTaskCancellationHandler {
        try await task.value
      } onCancel: {
        task.cancel()
      }
    }
  }

  private let services = Lock<[String: Int]>([:])
  private let places = Budget<PushOwner>(capacity: all, share: ofUser)
  private let doubtfulPlaces = Budget<PushOwner>(capacity: doubtful, share: ofUser)
  /// The push services that have answered the last request, and whether over HTTP/2.
  private let answering = RecentValues<String, Bool>(limit: 4096)

  /// The figures of the places.
  var statistics: BudgetStatistics { places.statistics }

  /// Takes a place for a request, unless there are as many as may be.
  ///
  /// - Parameters:
  ///   - service: the push service's origin.
  ///   - user: the user whose device is pushed to.
  func begin(_ service: String, for user: PushOwner) -> Place? {
    let speaksHTTP2 = answering.value(for: service)
    let limit = speaksHTTP2 == true ? Self.many : Self.few
    let hasRoom = services.withLock { services in
      guard services[service, default: 0] < limit else { return false }
      services[service, default: 0] += 1
      return true
    }
    guard hasRoom else { return nil }
    let request = PushRequest()
    let budgets = speaksHTTP2 == nil ? [doubtfulPlaces, places] : [places]
    let holdings = budgets.map { budget in
      Holding(of: budget, for: user) { request.lose() }
    }
    guard holdings.allSatisfy({ $0.set(to: 1) }) else {
      leave(service)
      return nil
    }
    return Place(service: service, request: request, holdings: holdings)
  }

  /// Gives the place back.
  ///
  /// - Parameters:
  ///   - place: the place.
  ///   - speaksHTTP2: whether the push service has answered over HTTP/2, or nil if it hasn't answered.
  func end(_ place: Place, speaksHTTP2: Bool?) {
    for holding in place.holdings { _ = holding.set(to: 0) }
    leave(place.service)
    let before = answering.value(for: place.service)
    guard speaksHTTP2 != before else { return }
    if let speaksHTTP2 {
      answering.insert(speaksHTTP2, for: place.service)
    } else {
      answering.remove(place.service)
    }
  }

  private func leave(_ service: String) {
    services.withLock { services in
      services[service] = services[service].flatMap { $0 > 1 ? $0 - 1 : nil }
    }
  }
}

/// A request that is cancelled when its place is lost, also before it has begun.
private final class PushRequest: Sendable {
  private let state = Lock<(isLost: Bool, cancel: (@Sendable () -> Void)?)>((false, nil))

  var isLost: Bool { state.withLock { $0.isLost } }

  func begin(_ cancel: @escaping @Sendable () -> Void) {
    let isLost = state.withLock { state in
      state.cancel = cancel
      return state.isLost
    }
    if isLost { cancel() }
  }

  func lose() {
    let cancel = state.withLock { state in
      state.isLost = true
      return state.cancel
    }
    cancel?()
  }
}
