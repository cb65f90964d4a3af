internal import Observability
internal import Testing

@Suite struct FailureRunTests {
  @Test func theFirstFailureAndOneAMinuteAreLogged() {
    var run = FailureRun()
    let start = ContinuousClock.now
    let logged = (0...150).filter { run.failed(at: start + .seconds($0)) }
    #expect(logged == [0, 60, 120])
  }

  @Test func afterASuccessTheNextFailureIsLogged() {
    var run = FailureRun()
    let start = ContinuousClock.now
    let first = run.failed(at: start)
    run.succeeded()
    let second = run.failed(at: start + .seconds(1))
    #expect(first && second)
  }
}
