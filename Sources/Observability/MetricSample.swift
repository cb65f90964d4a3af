/// What a metric was at one moment.
public struct MetricSample: Sendable {
  /// What is known of it.
  public enum Value: Sendable {
    /// A number that goes up and down.
    case level(Double)
    /// A number that only grows.
    case total(Double)
    /// Values in buckets.
    case distribution(Distribution)
  }

  /// The name, with the unit at its end.
  public let name: String
  /// What it tells, in a few words.
  public let help: String
  /// What tells it from others of the name.
  public let labels: [(name: String, value: String)]
  /// What it was.
  public let value: Value
}
