/// A service that works in the background while requests are served.
public protocol Running: Service {
  /// Works until the task is cancelled.
  ///
  /// It returns if there is nothing (more) to do. After an error, which is logged and shown by `/readyz`, it is called
  /// again after a pause that grows from 1 s to 1 min.
  func run() async throws
}
