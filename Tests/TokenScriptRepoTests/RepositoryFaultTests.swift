internal import Testing

@testable import TokenScriptRepo

@Suite struct RepositoryFaultTests {
  /// Of a reload and the watch, which find the same fault, one logs it.
  @Test func aFaultIsNewUntilItIsMended() {
    let fault = RepositoryFault()
    #expect(fault.record("no such folder"))
    #expect(!fault.record("no such folder"))
    #expect(fault.record("permission denied"))
    fault.clear()
    #expect(fault.record("permission denied"))
  }
}
