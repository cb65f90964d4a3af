internal import TestSupport
internal import Testing
internal import Platform

@Suite(.ownThreads) struct ProcessorsTests {
  @Test func countsThoseThatTheProcessMayUse() throws {
    let outcome = try ChildProcess.run("/usr/bin/nproc")
    #expect("\(Processors.count)\n" == outcome.output)
  }
}
