internal import Platform

extension Timestamp {
  /// The moment cut to whole seconds, the resolution of the store and of `Last-Modified`.
  var wholeSecond: Timestamp { Timestamp(seconds: seconds) }
}
