/// A metric at one moment.
public struct MetricSample: Sendable {
  /// The value of a metric.
  public enum Value: Sendable {
    /// A number that goes up and down.
    case level(Double)
    /// A number that only grows.
    case total(Double)
    /// Values by buckets.
    case distribution(Distribution)
  }

  /// The name, with the unit at its end.
  public let name: String
  /// The title.
  public let help: String
  /// The labels that tell it from others of the same name.
  public let labels: [(name: String, value: String)]
  /// The value.
  public let value: Value
}
