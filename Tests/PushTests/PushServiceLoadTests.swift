internal import Testing

@testable import Push

/// The places of pushes to browsers.
@Suite struct PushServiceLoadTests {
  private func user(_ number: Int) -> PushOwner {
    PushOwner(service: "msgr", account: Array("user \(number)".utf8))
  }

  /// Takes all places, eight for a user, each at a push service of its own that has answered before.
  private func fill(_ load: PushServiceLoad) throws -> [PushServiceLoad.Place] {
    try (0..<PushServiceLoad.all).map { number in
      let service = "https://\(number).example"
      let user = user(number / 8)
      let first = try #require(load.begin(service, for: user))
      load.end(first, speaksHTTP2: false)
      return try #require(load.begin(service, for: user))
    }
  }

  @Test func whoHoldsMostLosesAPlace() throws {
    let load = PushServiceLoad()
    let places = try fill(load)
    let own = try #require(load.begin("https://good.example", for: user(-1)))
    #expect(places.count { $0.isLost } == 1)
    #expect(!own.isLost)
    // Nobody has more than eight, and nobody who would have as many takes any.
    let further = (0..<7).map { load.begin("https://\($0).own.example", for: user(-1)) }
    #expect(further.map { $0 != nil } == [true, true, true, true, true, true, false])
    #expect(places.count { $0.isLost } == 7)
    #expect(!own.isLost)
  }

  @Test func whatNeverAnswersTakesNoPlaceOfOthers() throws {
    let load = PushServiceLoad()
    let places = (0..<200).map { load.begin("https://\($0).example", for: user($0 / 8)) }
    #expect(places.count { $0?.isLost == false } == 100)
    // A push service that nobody knows yet looks the same.
    let own = load.begin("https://good.example", for: user(-1))
    #expect(own?.isLost == false)
    #expect(places.count { $0?.isLost == false } == 99)
  }

  @Test func aRequestEndsWithItsPlace() async throws {
    let load = PushServiceLoad()
    let places = try fill(load)
    let other = try #require(load.begin("https://good.example", for: user(-1)))
    let lost = places.first { $0.isLost }
    let kept = places.first { !$0.isLost }
    let wait: @Sendable () async throws -> Void = { try await Task.sleep(for: .seconds(60)) }
    #expect(lost != nil && kept != nil)
    await #expect(throws: CancellationError.self) { try await lost?.perform(wait) }
    let task = Task { try await kept?.perform(wait) }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try await other.perform { 7 } == 7)
  }
}
