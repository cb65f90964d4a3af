internal import Synchronization
public import Time

/// Where events are told, one line each, to standard error or another descriptor.
///
/// A value: ``with(_:)`` gives a log that adds fields to each line; all copies share the writer and
/// the level. Nothing here blocks the caller on the descriptor, so it may be used on an event loop.
public struct Log: Sendable {
  /// How much an event matters.
  public enum Level: String, Sendable, CaseIterable {
    case debug, info, warning, error

    fileprivate var rank: UInt8 {
      switch self {
      case .debug: 0
      case .info: 1
      case .warning: 2
      case .error: 3
      }
    }
  }

  /// How lines look.
  public enum Format: String, Sendable {
    /// `2026-11-21T20:45:08.123Z info    message key=value key="other value"`.
    case text
    /// One JSON object a line: `time`, `level`, `message`, then the fields.
    case json
  }

  /// Named values that belong to an event; the names are the program's own.
  public typealias Fields = KeyValuePairs<StaticString, any LogValue>

  private let writer: LogWriter
  private let format: Format
  private let clock: @Sendable () -> Timestamp
  private var context: [(name: StaticString, value: any LogValue)] = []

  /// A log with a writer of its own.
  ///
  /// - Parameters:
  ///   - level: events that matter less are not written.
  ///   - format: how lines look.
  ///   - descriptor: where lines are written, one `write` each; it stays open as long as the log.
  ///   - clock: tells the time of an event.
  public init(
    level: Level = .info, format: Format = .text, descriptor: Int32 = 2,
    clock: @escaping @Sendable () -> Timestamp = Timestamp.now
  ) {
    writer = LogWriter(descriptor: descriptor, rank: level.rank)
    self.format = format
    self.clock = clock
  }

  /// Changes the level, for all copies of this log.
  ///
  /// - Parameter level: events that matter less are not written.
  public func setLevel(_ level: Level) {
    writer.rank.store(level.rank, ordering: .relaxed)
  }

  /// Whether events of a level are written.
  ///
  /// - Parameter level: the level asked about.
  public func writes(_ level: Level) -> Bool {
    level.rank >= writer.rank.load(ordering: .relaxed)
  }

  /// A log that adds fields to each line.
  ///
  /// - Parameter fields: put between the message and an event's own fields.
  public func with(_ fields: Fields) -> Log {
    var log = self
    for (name, value) in fields { log.context.append((name, value)) }
    return log
  }

  /// Tells what only a developer wants to know.
  public func debug(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> Fields = [:])
  {
    write(.debug, message, fields)
  }

  /// Tells what an operator wants to know.
  public func info(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> Fields = [:])
  {
    write(.info, message, fields)
  }

  /// Tells what an operator should look at.
  public func warning(
    _ message: @autoclosure () -> String, _ fields: @autoclosure () -> Fields = [:]
  ) {
    write(.warning, message, fields)
  }

  /// Tells what failed.
  public func error(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> Fields = [:])
  {
    write(.error, message, fields)
  }

  /// Waits until what was told before is written; for the end of the process.
  ///
  /// - Parameter limit: how long to wait for a reader that is stuck.
  public func flush(within limit: Duration = .seconds(1)) {
    writer.flush(within: limit)
  }

  private func write(_ level: Level, _ message: () -> String, _ fields: () -> Fields) {
    guard writes(level) else { return }
    var line = LogLine(format: format, time: clock(), level: level, message: message())
    for (name, value) in context { line.append(name, value.logged) }
    for (name, value) in fields() { line.append(name, value.logged) }
    writer.submit(line.finished())
  }
}
