internal import Testing

@testable import TokenScriptRepo

@Suite struct RepositoryFaultTests {
  /// Of a reload and the watch, which find the same fault, one logs it.
  @Test func aFaultIsNewUntilItIsMended() {
    let fault = RepositoryFault()
    #expect(fault.isNew("no such folder"))
    #expect(!fault.isNew("no such folder"))
    #expect(fault.isNew("permission denied"))
    fault.isMended()
    #expect(fault.isNew("permission denied"))
  }
}
