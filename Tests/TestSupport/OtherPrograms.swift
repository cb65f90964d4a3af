internal import Foundation
package import Testing

/// The programs that some tests need beside awd: browsers, databases, other servers, and what comes from PyPI.
package enum OtherPrograms {
  /// Whether tests may start them; `AWD_TEST_ALONE` says that they may not.
  package static let mayRun = ProcessInfo.processInfo.environment["AWD_TEST_ALONE"] == nil
}

extension Trait where Self == ConditionTrait {
  /// The trait of tests that need programs beside awd, which `make test-unit` leaves out.
  package static var withOtherPrograms: Self {
    .enabled(if: OtherPrograms.mayRun, "needs programs beside awd; `make test` runs it")
  }
}
