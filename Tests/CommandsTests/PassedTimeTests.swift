internal import Storage
internal import Testing
internal import Platform

@testable import Commands

@Suite struct PassedTimeTests {
  @Test func itGoesOnWhereTheLastRunEnded() async throws {
    let store = try await Store.open(.memory)
    let first = try await PassedTime(in: store, isReset: false)
    #expect(first.now.duration(to: .now()) < .seconds(60))
    // As if a year had passed by the system's clock.
    let last = Timestamp.now() - .seconds(31_536_000)
    try await store.record(last)
    let second = try await PassedTime(in: store, isReset: false)
    #expect(second.now >= last && second.now < last + .seconds(60))
    try await second.record()
    #expect(try await store.keptTime() ?? .now() < last + .seconds(60))
    let third = try await PassedTime(in: store, isReset: true)
    #expect(third.now > last + .seconds(31_000_000))
    await store.close()
  }
}
