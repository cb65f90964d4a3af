public import Platform

/// Counts what the accounts of each site have stored, so that none fills the disk.
///
/// What is stored is added up as it comes. The sums are counted anew in the store when a site has come to its limit, and now and
/// then, as deletions and other nodes change them.
@usableFromInline
package final class SiteStorage<Site: Hashable & Sendable>: Sendable {
  @usableFromInline
  struct State {
    @usableFromInline var bytes: [Site: Int] = [:]
    /// What was added while the store was counting, of which its sums may lack some.
    @usableFromInline var added: [Site: Int] = [:]
    /// The count under way.
    @usableFromInline var counting: Promise<Result<Void, any Error>>?
    @usableFromInline var countedAt: ContinuousClock.Instant?
    /// The time that the last count took.
    @usableFromInline var effort = Duration.zero

    /// Returns whether a site may have more bytes.
    @inlinable
    func hasRoom(for more: Int, of site: Site, upTo limit: Int) -> Bool {
      let (sum, isTooLarge) = bytes[site, default: 0].addingReportingOverflow(more)
      return !isTooLarge && sum <= limit
    }

    /// Adds bytes of a site, whether or not it may have them.
    @inlinable
    mutating func record(_ more: Int, of site: Site) {
      let (sum, isTooLarge) = bytes[site, default: 0].addingReportingOverflow(more)
      bytes[site] = isTooLarge ? .max : sum
      if counting != nil { added[site, default: 0] += more }
    }
  }

  /// How long ago the sums were counted, and how much work that was.
  @usableFromInline
  struct LastCount {
    @usableFromInline let age: Duration
    @usableFromInline let effort: Duration

    @inlinable
    init(age: Duration, effort: Duration) {
      self.age = age
      self.effort = effort
    }
  }

  /// The age at which sums are counted anew, unless that was much work.
  @inlinable static var age: Duration { .seconds(600) }
  /// How many times as long as a count takes the sums are left alone: then, and if a site has come to its limit.
  @inlinable static var rests: (usual: Int, full: Int) { (200, 50) }

  @usableFromInline let limit: Int
  private let sums: @Sendable () async throws -> [Site: Int]
  @usableFromInline let state = Lock(State())

  /// - Parameters:
  ///   - limit: the most bytes of a site.
  ///   - sums: adds up in the store what each site has.
  package init(limit: Int, sums: @escaping @Sendable () async throws -> [Site: Int]) {
    self.limit = limit
    self.sums = sums
  }

  /// Counts bytes that an account of a site wants to store, if the site may have them.
  ///
  /// - Throws: the store's error if the sums were never counted, or have to be now.
  @inlinable
  package func mayStore(_ more: Int, of site: Site) async throws -> Bool {
    let now = ContinuousClock.now
    let last = state.withLock { state in
      state.countedAt.map { LastCount(age: now - $0, effort: state.effort) }
    }
    guard let last else {
      try await count()
      return add(more, of: site)
    }
    // Nobody waits for a count that is not needed at once.
    if last.age > max(Self.age, last.effort * Self.rests.usual) { _ = beginCount() }
    if add(more, of: site) { return true }
    guard last.age > max(.seconds(1), last.effort * Self.rests.full) else { return false }
    try await count()
    return add(more, of: site)
  }

  /// Counts bytes as ``mayStore(_:of:)`` does, by the sums as they are.
  @inlinable
  func add(_ more: Int, of site: Site) -> Bool {
    state.withLock { state in
      guard state.hasRoom(for: more, of: site, upTo: limit) else { return false }
      state.record(more, of: site)
      return true
    }
  }

  /// Returns whether a site may store more bytes, by the sums as they are. It counts nothing, so a transaction that may run
  /// more than once can call it.
  @inlinable
  package func hasRoom(for more: Int, of site: Site) -> Bool {
    state.withLock { $0.hasRoom(for: more, of: site, upTo: limit) }
  }

  /// Counts bytes of a site that are in the store already, so it doesn't refuse them.
  @inlinable
  package func record(_ more: Int, of site: Site) {
    state.withLock { $0.record(more, of: site) }
  }

  @usableFromInline
  func count() async throws { try await beginCount().value.get() }

  /// Begins to count, unless that has begun.
  @usableFromInline
  func beginCount() -> Promise<Result<Void, any Error>> {
    let (count, isNew) = state.withLock { state in
      if let counting = state.counting { return (counting, false) }
      let counting = Promise<Result<Void, any Error>>()
      state.added = [:]
      state.counting = counting
      return (counting, true)
    }
    // The lock is free by now: others don't wait while a task is made.
    if isNew { Task { count.fulfill(await recount()) } }
    return count
  }

  private func recount() async -> Result<Void, any Error> {
    let start = ContinuousClock.now
    do {
      let sums = try await sums()
      let end = ContinuousClock.now
      state.withLock { state in
        state.bytes = sums.merging(state.added) { $0 + $1 }
        state.effort = end - start
        state.countedAt = end
        state.counting = nil
      }
      return .success(())
    } catch {
      state.withLock { $0.counting = nil }
      return .failure(error)
    }
  }
}
