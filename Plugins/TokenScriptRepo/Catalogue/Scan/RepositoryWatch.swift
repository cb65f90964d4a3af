internal import Glibc
internal import Platform
internal import Synchronization

/// Watches folders for changes (inotify), on a thread of its own.
///
/// Linux does not watch folders recursively, so each is watched by itself.
final class RepositoryWatch: Sendable {
  /// Gives an element after each series of changes, once it is quiet.
  let changes: AsyncStream<Void>
  private let continuation: AsyncStream<Void>.Continuation
  private let descriptor: CInt
  /// A watch without events of its own, whose removal wakes the thread.
  private let sentinel: CInt
  private let stopFlag = Atomic<Bool>(false)
  /// The root's path, without a slash at its end.
  private let root: String
  /// The watches; for each the only name whose events count, or nil if all do.
  private let watches = Lock<[CInt: [UInt8]?]>([:])

  /// Makes a watch over no folder.
  ///
  /// - Throws: ``SystemError`` if the system has no room for one.
  init(_ root: String) throws(SystemError) {
    self.root = root.hasSuffix("/") ? String(root.dropLast()) : root
    (changes, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    descriptor = inotify_init1(CInt(IN_CLOEXEC) | CInt(IN_NONBLOCK))
    guard descriptor >= 0 else { throw SystemError(errno) }
    sentinel = unsafe inotify_add_watch(descriptor, "/", UInt32(IN_DELETE_SELF))
  }

  deinit { close(descriptor) }

  /// Starts the thread.
  ///
  /// - Throws: ``SystemError`` if no thread can be started.
  func start() throws(SystemError) { _ = try WorkerThread(named: "awd-watch") { self.run() } }

  /// Ends the thread and ``changes``.
  func stop() {
    stopFlag.store(true, ordering: .releasing)
    inotify_rm_watch(descriptor, sentinel)
  }

  /// True if the watch was stopped.
  var isStopped: Bool { stopFlag.load(ordering: .acquiring) }

  /// Watches the folders that a walk enters, and no others once the walk has succeeded.
  ///
  /// A folder is watched before its names are read, so a change is either seen by the walk or makes an event. The root's
  /// name in the folder above is watched too, where a root that is a link or is moved away is replaced.
  ///
  /// - Parameter walk: lists the folders, and hands over the location of each before it reads the names.
  /// - Returns: the walk's result, and the number of folders that the system has no watches left for.
  /// - Throws: the walk's error; then the earlier watches stay.
  func follow<Listing>(
    _ walk: (_ enter: @escaping (RepositoryPath) -> Void) throws(SystemError) -> Listing
  ) throws(SystemError) -> (listing: Listing, unwatched: Int) {
    let pass = Pass()
    let name = root.split(separator: "/").last.map { Array($0.utf8) } ?? []
    add(Array(DurableFile.folder(of: root).utf8), IN_MASK_ADD, to: pass, name: name)
    let listing = try walk { folder in
      let below = folder.bytes.isEmpty ? [] : [UInt8(ascii: "/")] + folder.bytes
      let events = IN_CLOSE_WRITE | IN_MODIFY | IN_DELETE_SELF | IN_MOVE_SELF
      self.add(Array(self.root.utf8) + below, events, to: pass, name: nil)
    }
    let old = watches.withLock { watches in
      let old = watches.keys.filter { !pass.found.contains($0) }
      for number in old { watches[number] = nil }
      return old
    }
    for number in old { inotify_rm_watch(descriptor, number) }
    return (listing, pass.unwatched)
  }

  /// The watches of one walk.
  private final class Pass {
    var found: Set<CInt> = []
    var unwatched = 0
  }

  private func add(_ path: [UInt8], _ events: CInt, to pass: Pass, name: [UInt8]?) {
    let bytes = path.map { CChar(bitPattern: $0) } + [0]
    let mask = UInt32(events | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR)
    // Not under the lock, as it blocks on the disk. Events of a watch that is not recorded yet count, whatever their names.
    let number = unsafe inotify_add_watch(descriptor, bytes, mask)
    if number >= 0 {
      watches.withLock { $0[number] = .some(name) }
      pass.found.insert(number)
    } else if errno == ENOSPC {
      pass.unwatched += 1
    }
  }

  private func run() {
    var period = QuietPeriod()
    while true {
      let wait = period.deadline.map { Self.milliseconds($0 - ContinuousClock.now) } ?? -1
      var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      let ready = unsafe Glibc.poll(&poll, 1, wait)
      guard !isStopped, ready >= 0 || errno == EINTR else { break }
      if ready > 0, readEvents() { period.change(at: .now) }
      if period.isOver(at: .now) { continuation.yield() }
    }
    continuation.finish()
  }

  /// Reads the events, and returns whether any of them counts.
  private func readEvents() -> Bool {
    var counts = false
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = unsafe read(descriptor, &buffer, buffer.count)
      guard count > 0 else { return counts }
      var rest = buffer[..<count]
      watches.withLock { watches in
        while let event = Event(&rest) {
          guard let name = watches[event.watch] else {
            counts = counts || !event.isEndOfWatch
            continue
          }
          counts = counts || name == nil || name == event.name
        }
      }
    }
  }

  private static func milliseconds(_ duration: Duration) -> CInt {
    CInt(max(0, min(10_000, (duration / .milliseconds(1)).rounded(.up))))
  }

  /// An `inotify_event` and the name behind it, which is padded with zeros.
  private struct Event {
    let watch: CInt
    /// True if the watch was removed: the last event of its number.
    let isEndOfWatch: Bool
    let name: [UInt8]

    init?(_ bytes: inout ArraySlice<UInt8>) {
      let size = MemoryLayout<inotify_event>.size
      guard bytes.count >= size else { return nil }
      let event = unsafe bytes.withUnsafeBytes { unsafe $0.loadUnaligned(as: inotify_event.self) }
      guard bytes.count >= size + Int(event.len) else { return nil }
      watch = event.wd
      isEndOfWatch = event.mask & UInt32(IN_IGNORED) != 0
      name = Array(bytes.dropFirst(size).prefix(Int(event.len)).prefix { $0 != 0 })
      bytes = bytes.dropFirst(size + Int(event.len))
    }
  }
}

/// Decides when to scan a folder that is being changed: after a while of quiet, but not too late.
struct QuietPeriod: Sendable {
  /// The time without a change that ends the wait.
  static let quiet = Duration.milliseconds(200)
  /// The longest time that a change waits.
  static let limit = Duration.seconds(2)

  /// The end of the wait, or nil if nothing has changed.
  private(set) var deadline: ContinuousClock.Instant?
  private var first: ContinuousClock.Instant?

  /// Records a change.
  mutating func change(at now: ContinuousClock.Instant) {
    let first = first ?? now
    self.first = first
    deadline = min(now + Self.quiet, first + Self.limit)
  }

  /// Returns whether the wait is over, and then starts anew.
  mutating func isOver(at now: ContinuousClock.Instant) -> Bool {
    guard let deadline, deadline <= now else { return false }
    self = QuietPeriod()
    return true
  }
}
