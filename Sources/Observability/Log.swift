public import Platform

internal import Synchronization

/// Writes events, one line each, to standard error or another descriptor.
///
/// A hundred equal events (of one level, message and service) are written in ten seconds. Further ones are counted, and a
/// line with the fields `more` and `seconds` says their number.
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
  /// The value of the field `service`, which distinguishes events.
  private var service = ""

  /// Makes a log with a writer of its own.
  ///
  /// - Parameters:
  ///   - level: the lowest level that is written.
  ///   - descriptor: the file or socket that lines are written to, one `write` each. It must stay open as long as the
  ///     log.
  public init(
    level: Level = .info, format: Format = .text, descriptor: Int32 = 2,
    clock: @escaping @Sendable () -> Timestamp = Timestamp.now
  ) {
    writer = LogWriter(descriptor: descriptor, rank: level.rank) { events in
      LogLine(of: events, at: clock()).bytes(in: format)
    }
    self.format = format
    self.clock = clock
  }

  /// Changes the level, for all copies of this log.
  ///
  /// - Parameter level: the lowest level that is written.
  public func setLevel(_ level: Level) { writer.rank.store(level.rank, ordering: .relaxed) }

  /// Returns whether events of a level are written.
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
    var line = LogLine(time: clock(), level: level, message: message)
    for (name, value) in context { line.fields.append((name, value.logged)) }
    for (name, value) in fields() { line.fields.append((name, value.logged)) }
    writer.submit(line.bytes(in: format))
  }
}

/// A type of values of log fields.
public protocol LogValue: Sendable {
  /// The value in a form that a line can show.
  var logged: LogScalar { get }
}

/// The forms of a value in a log line.
public enum LogScalar: Sendable {
  case text(String)
  case integer(Int64)
  case number(Double)
  case boolean(Bool)
}

extension String: LogValue {
  /// The text. Characters that could end or forge a line are escaped when it is written.
  public var logged: LogScalar { .text(self) }
}

extension Int: LogValue {
  /// The number.
  public var logged: LogScalar { .integer(Int64(self)) }
}

extension UInt16: LogValue {
  /// The number.
  public var logged: LogScalar { .integer(Int64(self)) }
}

extension Double: LogValue {
  /// The number.
  public var logged: LogScalar { .number(self) }
}

extension Bool: LogValue {
  /// The truth value.
  public var logged: LogScalar { .boolean(self) }
}

extension Duration: LogValue {
  /// The duration in milliseconds, to the microsecond.
  public var logged: LogScalar { .number((self / .microseconds(1)).rounded() / 1000) }
}

/// Events that count as equal in a log, whatever else their lines hold.
struct LogEvent: Hashable, Sendable {
  let level: Log.Level
  let message: String
  /// The service that the log belongs to, or empty.
  let service: String
}

/// Counts equal events, so that a flood of them becomes a few lines and their number.
///
/// The first events of a span are written, the others counted. When the span is over, their number is written, and the
/// next one begins with the next event.
struct LogRates {
  /// The number of further equal events, once their span is over.
  struct Sum {
    let event: LogEvent
    let count: Int
  }

  /// The span in which events are counted.
  static let span = Duration.seconds(10)
  /// The number of equal events of a span that are written.
  static let limit = 100
  /// The number of events that are told apart. Messages are the program's own, but some name what they are about.
  private static let capacity = 256

  private struct Count {
    let start: ContinuousClock.Instant
    var events = 0

    var further: Int { max(0, events - LogRates.limit) }
    var end: ContinuousClock.Instant { start + LogRates.span }
  }

  private var counts: [LogEvent: Count] = [:]
  /// The events of kinds that there was no place for, and the moment of the first.
  private var others: (start: ContinuousClock.Instant, count: Int)?
  /// True if there are events that were counted and not written.
  private(set) var isCounting = false

  /// Counts an event.
  ///
  /// - Returns: whether it is to be written.
  mutating func admit(_ event: LogEvent, at now: ContinuousClock.Instant) -> Bool {
    if counts[event] == nil, counts.count >= Self.capacity {
      // Those without a sum to tell are forgotten. If all have one, the flood is of many kinds, and this is one more.
      counts = counts.filter { $0.value.further > 0 }
      guard counts.count < Self.capacity else {
        others = (others?.start ?? now, (others?.count ?? 0) + 1)
        isCounting = true
        return false
      }
    }
    var count = counts[event] ?? Count(start: now)
    if now >= count.end, count.further == 0 { count = Count(start: now) }
    count.events += 1
    counts[event] = count
    if count.further > 0 { isCounting = true }
    return count.further == 0
  }

  /// Removes the sums of the spans that are over.
  ///
  /// - Parameter now: the present, or nil for the end of all spans.
  mutating func drainSums(at now: ContinuousClock.Instant?) -> [Sum] {
    guard isCounting else { return [] }
    var sums: [Sum] = []
    for (event, count) in counts where count.further > 0 && now.map({ $0 >= count.end }) ?? true {
      sums.append(Sum(event: event, count: count.further))
      counts[event] = nil
    }
    if let (start, count) = others, now.map({ $0 >= start + Self.span }) ?? true {
      let event = LogEvent(level: .warning, message: "events of many kinds", service: "")
      sums.append(Sum(event: event, count: count))
      others = nil
    }
    isCounting = others != nil || counts.values.contains { $0.further > 0 }
    return sums
  }
}
