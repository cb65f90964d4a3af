/// An error that may pass by itself, such as that of a store that can't be reached. The router answers it with 503 then.
package protocol TemporaryFailure: Error {
  /// True if the same request may succeed a moment later, without a restart.
  var isUnavailable: Bool { get }
}
