package import Formats

internal import Platform

/// The turns of sites at the endpoints of chains: a few calls of each site at once, and a few of all; the others wait.
///
/// So a site that names slow contracts delays the others by no more than one call.
package final class CallTurns: Sendable {
  private struct Waiter {
    let number: UInt64
    let resume: CheckedContinuation<Bool, Never>
  }

  private struct State {
    var running = 0
    var runningOfSite: [ClientSite?: Int] = [:]
    var waiting: [ClientSite?: [Waiter]] = [:]
    /// The sites that wait, the next one first.
    var order: [ClientSite?] = []
    var count = 0
    var lastNumber: UInt64 = 0
  }

  private let width: Int
  private let widthOfSite: Int
  private let queueLimit: Int
  private let state = Lock(State())

  /// Makes turns.
  ///
  /// - Parameters:
  ///   - width: the number of calls at once.
  ///   - widthOfSite: the number of them of one site.
  ///   - queueLimit: the number of calls that wait. If they are as many, the site with most of them loses its last one.
  package init(width: Int, widthOfSite: Int, queueLimit: Int) {
    self.width = width
    self.widthOfSite = widthOfSite
    self.queueLimit = queueLimit
  }

  /// The number of calls that wait.
  package var waiting: Int { state.withLock { $0.count } }

  /// Waits for a turn, makes a call, and lets the next one begin.
  ///
  /// - Parameters:
  ///   - site: the site that the call is charged to; nil for the machine itself.
  ///   - deadline: the end of the wait, or nil for none.
  /// - Returns: nil if the turn didn't come in time, or too many waited.
  package func run<Value: Sendable>(
    for site: ClientSite?, until deadline: ContinuousClock.Instant? = nil,
    _ call: @Sendable () async -> Value
  ) async -> Value? {
    guard await hasTurn(site, until: deadline) else { return nil }
    defer { end(site) }
    return await call()
  }

  private func hasTurn(_ site: ClientSite?, until deadline: ContinuousClock.Instant?) async -> Bool
  {
    let number = state.withLock { state in
      state.lastNumber += 1
      return state.lastNumber
    }
    let timer = deadline.map { deadline in
      Task {
        try await Task.sleep(until: deadline, clock: .continuous)
        self.refuse(number, of: site)
      }
    }
    defer { timer?.cancel() }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        begin(Waiter(number: number, resume: continuation), site)
        if Task.isCancelled { refuse(number, of: site) }
      }
    } onCancel: {
      refuse(number, of: site)
    }
  }

  /// Begins a call, or has it wait.
  private func begin(_ waiter: Waiter, _ site: ClientSite?) {
    let (isStarted, refused) = state.withLock { state -> (Bool, Waiter?) in
      let isFree = state.running < width && state.runningOfSite[site, default: 0] < widthOfSite
      if isFree, state.waiting[site] == nil {
        start(site, &state)
        return (true, nil)
      }
      var refused: Waiter?
      if state.count >= queueLimit {
        let own = state.waiting[site]?.count ?? 0
        guard let largest = state.waiting.max(by: { $0.value.count < $1.value.count }),
          largest.value.count > own + 1
        else { return (false, waiter) }
        refused = state.waiting[largest.key]?.popLast()
        state.count -= 1
      }
      if state.waiting[site] == nil { state.order.append(site) }
      state.waiting[site, default: []].append(waiter)
      state.count += 1
      return (false, refused)
    }
    if isStarted { waiter.resume.resume(returning: true) }
    refused?.resume.resume(returning: false)
  }

  private func start(_ site: ClientSite?, _ state: inout State) {
    state.running += 1
    state.runningOfSite[site, default: 0] += 1
  }

  /// Ends a call, and begins the next one of the next site that has one.
  private func end(_ site: ClientSite?) {
    let next: Waiter? = state.withLock { state in
      state.running -= 1
      let rest = state.runningOfSite[site, default: 1] - 1
      state.runningOfSite[site] = rest == 0 ? nil : rest
      return nextWaiter(&state)
    }
    next?.resume.resume(returning: true)
  }

  private func nextWaiter(_ state: inout State) -> Waiter? {
    guard state.running < width else { return nil }
    for (index, site) in state.order.enumerated()
    where state.runningOfSite[site, default: 0] < widthOfSite {
      guard var waiters = state.waiting[site], !waiters.isEmpty else { continue }
      let waiter = waiters.removeFirst()
      state.order.remove(at: index)
      state.waiting[site] = waiters.isEmpty ? nil : waiters
      if !waiters.isEmpty { state.order.append(site) }
      state.count -= 1
      start(site, &state)
      return waiter
    }
    return nil
  }

  /// Ends the wait of a call that still waits.
  private func refuse(_ number: UInt64, of site: ClientSite?) {
    let refused: Waiter? = state.withLock { state in
      guard let index = state.waiting[site]?.firstIndex(where: { $0.number == number }) else {
        return nil
      }
      let waiter = state.waiting[site]?.remove(at: index)
      if state.waiting[site]?.isEmpty == true {
        state.waiting[site] = nil
        state.order.removeAll { $0 == site }
      }
      state.count -= 1
      return waiter
    }
    refused?.resume.resume(returning: false)
  }
}

/// Runs a body, and cancels it when its time is over; it returns what it has by then.
package func within<Value: Sendable>(
  _ time: Duration, _ body: @escaping @Sendable () async -> Value
) async -> Value {
  let task = Task { await body() }
  let timer = Task {
    try await Task.sleep(for: time)
    task.cancel()
  }
  defer { timer.cancel() }
  return await withTaskCancellationHandler {
    await task.value
  } onCancel: {
    task.cancel()
  }
}
