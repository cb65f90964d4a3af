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
