internal import Glibc
internal import Synchronization
internal import SystemCalls
internal import Threading

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
  private let isStopped = Atomic<Bool>(false)
  private let watched = Lock<[String: Watched]>([:])

  /// A watch on a folder.
  private struct Watched {
    let descriptor: CInt
    /// The only name whose events count, or nil if all do.
    let name: [UInt8]?
  }

  /// Makes a watch over no folder.
  ///
  /// - Throws: ``SystemError`` if the system has no room for one.
  init() throws(SystemError) {
    (changes, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    descriptor = inotify_init1(CInt(IN_CLOEXEC) | CInt(IN_NONBLOCK))
    guard descriptor >= 0 else { throw SystemError(errno) }
    sentinel = unsafe inotify_add_watch(descriptor, "/", UInt32(IN_DELETE_SELF))
  }

  deinit { close(descriptor) }

  /// Starts the thread.
  ///
  /// - Throws: ``SystemError`` if no thread can be started.
  func start() throws(SystemError) {
    _ = try WorkerThread(named: "awd-watch") { self.run() }
  }

  /// Ends the thread and ``changes``.
  func stop() {
    isStopped.store(true, ordering: .releasing)
    inotify_rm_watch(descriptor, sentinel)
  }

  /// Watches these folders and no others, and the root's name in the folder above it, where a root that is a link or is
  /// moved away is replaced.
  ///
  /// - Parameters:
  ///   - root: the root's path.
  ///   - folders: the paths of the folders, relative to the root.
  /// - Returns: whether a folder is new, so that earlier changes in it have not been seen; and the number of folders
  ///   that the system has no watches left for.
  func watch(
    _ root: String, _ folders: [RepositoryPath]
  ) -> (hasNew: Bool, unwatched: Int) {
    let trimmed = root.hasSuffix("/") ? String(root.dropLast()) : root
    let slash = trimmed.lastIndex(of: "/")
    let above = slash.map { $0 == trimmed.startIndex ? "/" : String(trimmed[..<$0]) } ?? "."
    let name = slash.map { trimmed[trimmed.index(after: $0)...] } ?? trimmed[...]
    let wanted =
      [(path: Array(above.utf8), name: Array(name.utf8) as [UInt8]?)]
      + folders.map { folder in
        let below = folder.bytes.isEmpty ? [] : [UInt8(ascii: "/")] + folder.bytes
        return (path: Array(trimmed.utf8) + below, name: nil)
      }
    var old = watched.withLock { $0 }
    var new: [String: Watched] = [:]
    var hasNew = false
    var unwatched = 0
    for (path, name) in wanted {
      let bytes = path.map { CChar(bitPattern: $0) } + [0]
      var events = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO
      if name == nil { events |= IN_CLOSE_WRITE | IN_MODIFY | IN_DELETE_SELF | IN_MOVE_SELF }
      // The same folder gives the same number again, and another one at the same path a new number.
      let number = unsafe inotify_add_watch(descriptor, bytes, UInt32(events) | UInt32(IN_ONLYDIR))
      let key = String(decoding: path, as: UTF8.self)
      if number < 0 {
        if errno == ENOSPC { unwatched += 1 }
        continue
      }
      if old.removeValue(forKey: key)?.descriptor != number { hasNew = true }
      new[key] = Watched(descriptor: number, name: name)
    }
    let kept = Set(new.values.map(\.descriptor))
    for gone in old.values where !kept.contains(gone.descriptor) {
      inotify_rm_watch(descriptor, gone.descriptor)
    }
    watched.withLock { $0 = new }
    return (hasNew, unwatched)
  }

  private func run() {
    var period = QuietPeriod()
    while true {
      let wait = period.deadline.map { Self.milliseconds($0 - ContinuousClock.now) } ?? -1
      var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      let ready = unsafe Glibc.poll(&poll, 1, wait)
      guard !isStopped.load(ordering: .acquiring), ready >= 0 || errno == EINTR else { break }
      if ready > 0, readEvents() { period.change(at: .now) }
      if period.isOver(at: .now) { continuation.yield() }
    }
    continuation.finish()
  }

  /// Reads the events, and returns whether any of them counts.
  private func readEvents() -> Bool {
    let names = watched.withLock { watched in
      Dictionary(
        watched.values.map { ($0.descriptor, $0.name) }, uniquingKeysWith: { $0 == nil ? $0 : $1 })
    }
    var counts = false
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = unsafe read(descriptor, &buffer, buffer.count)
      guard count > 0 else { return counts }
      var rest = buffer[..<count]
      while let event = Event(&rest) {
        if event.isOverflow { counts = true }
        guard let name = names[event.watch] else { continue }
        if name == nil || name == event.name { counts = true }
      }
    }
  }

  private static func milliseconds(_ duration: Duration) -> CInt {
    CInt(max(0, min(10_000, (duration / .milliseconds(1)).rounded(.up))))
  }

  /// An `inotify_event`: the watch, the mask, the cookie and the length of the name, four bytes each in the machine's
  /// order, and the name, padded with zeros.
  private struct Event {
    let watch: CInt
    let isOverflow: Bool
    let name: [UInt8]

    init?(_ bytes: inout ArraySlice<UInt8>) {
      guard bytes.count >= 16 else { return nil }
      func word(_ index: Int, _ bytes: ArraySlice<UInt8>) -> UInt32 {
        let start = bytes.startIndex + 4 * index
        return bytes[start..<start + 4].reversed().reduce(0) { $0 << 8 | UInt32($1) }
      }
      let length = Int(word(3, bytes))
      guard bytes.count >= 16 + length else { return nil }
      watch = CInt(bitPattern: word(0, bytes))
      isOverflow = word(1, bytes) & UInt32(IN_Q_OVERFLOW) != 0
      name = Array(bytes.dropFirst(16).prefix(length).prefix { $0 != 0 })
      bytes = bytes.dropFirst(16 + length)
    }
  }
}
