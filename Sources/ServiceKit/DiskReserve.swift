internal import Platform
internal import Synchronization

/// The free disk of the store, and the mark below which only known users may have something stored.
///
/// Without a mark a stranger with free accounts could fill the disk, and then nobody's messages would be kept. A service asks
/// ``refusesStrangers`` before it stores for somebody who isn't known: it costs one load, and nothing waits for the disk.
package final class DiskReserve: Sendable {
  /// The time between two looks at the disk.
  package static let interval = Duration.seconds(5)

  /// The mark in bytes; 0 for none.
  package let mark: Int
  private let folder: String?
  private let free = Atomic(Int.max)

  /// Looks at the disk for the first time.
  ///
  /// - Parameter folder: a folder on the disk of the store, or nil if the store is on another machine: then nobody is
  ///   refused.
  package init(of folder: String?, mark: Int) {
    self.folder = folder
    self.mark = mark
    update()
  }

  /// The free disk in bytes, or nil if it isn't known.
  package var freeBytes: Int? {
    let free = free.load(ordering: .relaxed)
    return free == .max ? nil : free
  }

  /// Whether there is so little room that only known users' data is stored.
  package var refusesStrangers: Bool { free.load(ordering: .relaxed) < mark }

  /// Reads the free disk again; blocks on the system.
  package func update() {
    guard let folder, let space = DiskSpace(at: folder) else { return }
    // Less than `max`, which stands for an unknown size.
    free.store(min(space.freeBytes, .max - 1), ordering: .relaxed)
  }
}
