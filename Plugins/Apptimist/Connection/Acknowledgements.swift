internal import Observability
internal import Storage
internal import Platform

/// Gathers the positions that devices have acknowledged without awaiting an answer, and writes those of all devices together.
///
/// A device has one entry at most, whatever it sends.
final class Acknowledgements: Sendable {
  /// The time for which they are gathered.
  private static let delay = Duration.milliseconds(500)

  private struct State {
    var positions: [Acknowledgement.Device: MailboxPosition] = [:]
    var isScheduled = false
  }

  private let store: ApptimistStore
  private let log: Log
  private let state = Lock(State())

  init(store: ApptimistStore, log: Log) {
    self.store = store
    self.log = log
  }

  /// Records a position; it is on disk within a second.
  func record(_ acknowledgement: Acknowledgement) {
    let isFirst = state.withLock { state in
      let old = state.positions[acknowledgement.device] ?? .zero
      state.positions[acknowledgement.device] = max(old, acknowledgement.position)
      defer { state.isScheduled = true }
      return !state.isScheduled
    }
    guard isFirst else { return }
    Task {
      try? await Task.sleep(for: Self.delay)
      state.withLock { $0.isScheduled = false }
      await flush()
    }
  }

  /// Writes at once what there is, as a session has ended.
  func flushSoon() {
    guard state.withLock({ !$0.positions.isEmpty }) else { return }
    Task { await flush() }
  }

  /// Writes what one device has acknowledged, before its position is read.
  func flush(_ device: Acknowledgement.Device) async throws {
    guard let position = state.withLock({ $0.positions.removeValue(forKey: device) }) else {
      return
    }
    try await store.acknowledge([Acknowledgement(device: device, position: position)])
  }

  private func flush() async {
    let positions = state.withLock { state in
      defer { state.positions = [:] }
      return state.positions
    }
    guard !positions.isEmpty else { return }
    do {
      try await store.acknowledge(
        positions.map { Acknowledgement(device: $0.key, position: $0.value) })
    } catch {
      guard (error as? StoreError)?.code != .closed else { return }
      // The devices get again what they had.
      log.error("acknowledged positions could not be stored", ["cause": "\(error)"])
    }
  }
}
