internal import ServiceKit
internal import Testing

@Suite struct DiskReserveTests {
  @Test func strangersAreRefusedBelowTheMark() throws {
    let free = try #require(DiskReserve(of: "/", mark: 0).freeBytes)
    #expect(!DiskReserve(of: "/", mark: 0).refusesStrangers)
    #expect(!DiskReserve(of: "/", mark: free / 2).refusesStrangers)
    #expect(DiskReserve(of: "/", mark: .max).refusesStrangers)
  }

  /// The disk of a store on another machine isn't this one's.
  @Test func nobodyIsRefusedForADiskThatIsNotSeen() {
    for folder in [nil, "/no/such/folder"] {
      let reserve = DiskReserve(of: folder, mark: .max)
      #expect(reserve.freeBytes == nil)
      // Only a mark above every size refuses, and no configuration has it.
      #expect(!DiskReserve(of: folder, mark: 1 << 50).refusesStrangers)
    }
  }
}
