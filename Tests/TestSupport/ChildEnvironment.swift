private import Foundation

/// What programs that a test starts are given of the test's own environment.
public enum ChildEnvironment {
  /// Where programs are, and a sanitizer's options: they hold for what is started too, and its reports name functions only if
  /// it finds the symbolizer.
  public static var inherited: [String: String] {
    ProcessInfo.processInfo.environment.filter {
      $0.key == "PATH" || $0.key.hasSuffix("SAN_OPTIONS")
    }
  }
}
