internal import Synchronization
public import Platform

/// Writes events, one line each, to standard error or another descriptor.
///
/// A hundred equal events (of one level, message and service) are written in ten seconds. Further ones are counted, and a
/// line with the fields `more` and `seconds` tells their number.
///
/// A log is a value: ``with(_:)`` makes one that adds fields to each line. All copies share the writer and the level. No
/// caller is blocked by the descriptor, so event loops may use it.
public struct Log: Sendable {
  /// The importance of an event.
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

  /// The form of a line.
  public enum Format: String, Sendable, CaseIterable {
    /// `2026-11-21T20:45:08.123Z info    message key=value key="other value"`.
    case text
    /// A JSON object with `time`, `level`, `message`, and then the fields.
    case json
  }

  /// Named values of an event. The names are the program's own.
  public typealias Fields = KeyValuePairs<StaticString, any LogValue>

  private let writer: LogWriter
  private let format: Format
  private let clock: @Sendable () -> Timestamp
  private var context: [(name: StaticString, value: any LogValue)] = []
  /// The value of the field `service`, which tells events apart.
  private var service = ""

  /// Makes a log with a writer of its own.
  ///
  /// - Parameters:
  ///   - level: the lowest level that is written.
  ///   - format: the form of lines.
  ///   - descriptor: the file or socket that lines are written to, one `write` each. It must stay open as long as the
  ///     log.
  ///   - clock: tells the time of an event.
  public init(
    level: Level = .info, format: Format = .text, descriptor: Int32 = 2,
    clock: @escaping @Sendable () -> Timestamp = Timestamp.now
  ) {
    writer = LogWriter(descriptor: descriptor, rank: level.rank) { sum in
      var line = LogLine(
        format: format, time: clock(), level: sum.event.level, message: sum.event.message)
      if !sum.event.service.isEmpty { line.append("service", .text(sum.event.service)) }
      line.append("more", .integer(Int64(sum.count)))
      line.append("seconds", .integer(LogRates.span.components.seconds))
      return line.finished()
    }
    (self.format, self.clock) = (format, clock)
  }

  /// Changes the level, for all copies of this log.
  ///
  /// - Parameter level: the lowest level that is written.
  public func setLevel(_ level: Level) { writer.rank.store(level.rank, ordering: .relaxed) }

  /// Returns whether events of a level are written.
  ///
  /// - Parameter level: the level.
  public func writes(_ level: Level) -> Bool { level.rank >= writer.rank.load(ordering: .relaxed) }

  /// Makes a log that adds fields to each line.
  ///
  /// - Parameter fields: the fields, which stand between the message and an event's own fields.
  public func with(_ fields: Fields) -> Log {
    var log = self
    for (name, value) in fields {
      log.context.append((name, value))
      if "\(name)" == "service", case .text(let service) = value.logged { log.service = service }
    }
    return log
  }

  /// Logs an event for developers.
  public func debug(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> Fields = [:])
  {
    write(.debug, message(), fields())
  }

  /// Logs an event for the operator.
  public func info(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> Fields = [:])
  {
    write(.info, message(), fields())
  }

  /// Logs an event that the operator should look at.
  public func warning(
    _ message: @autoclosure () -> String, _ fields: @autoclosure () -> Fields = [:]
  ) {
    write(.warning, message(), fields())
  }

  /// Logs a failure.
  public func error(_ message: @autoclosure () -> String, _ fields: @autoclosure () -> Fields = [:])
  {
    write(.error, message(), fields())
  }

  /// Waits until all earlier events are written, for the end of the process.
  ///
  /// - Parameter limit: the longest time to wait, as a reader may be stuck.
  public func flush(within limit: Duration = .seconds(1)) { writer.flush(within: limit) }

  /// Logs an event of a level.
  public func write(
    _ level: Level, _ message: @autoclosure () -> String, _ fields: @autoclosure () -> Fields
  ) {
    guard writes(level) else { return }
    let message = message()
    guard writer.admits(LogEvent(level: level, message: message, service: service)) else { return }
    var line = LogLine(format: format, time: clock(), level: level, message: message)
    for (name, value) in context { line.append(name, value.logged) }
    for (name, value) in fields() { line.append(name, value.logged) }
    writer.submit(line.finished())
  }
}
