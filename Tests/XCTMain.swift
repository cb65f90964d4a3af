import Testing

/// Runs the tests.
///
/// The package manager looks for a file of this name. Without it, it looks for tests of XCTest, which there are none of, in an
/// index of all sources: to make that takes a fifth of the compiler's time.
@main struct AllTests {
  static func main() async {
    await Testing.__swiftPMEntryPoint() as Never
  }
}
