/// A service that can take up changes while it runs.
package protocol Reloading: Service {
  /// Takes up what changed outside, such as files, keys and lists, on SIGHUP.
  ///
  /// - Throws: an error that leaves everything as it was.
  func reload() async throws
}
