internal import Formats
internal import Platform
internal import Testing

@testable import Apptimist

@Suite struct ClientAccountingTests {
  private func network(_ number: Int) throws -> ClientNetwork {
    let address = try #require(
      IPAddress("10.\(number >> 16 & 255).\(number >> 8 & 255).\(number & 255)"))
    return ClientNetwork(of: address)
  }

  /// A full table forgets the lowest counts, and bytes are many.
  @Test func bytesMakeNoCallsForgotten() throws {
    var limits = ClientLimits()
    limits.chainCallsPerAddress = 2
    let clients = ClientAccounting(limits) { Timestamp(seconds: 1_000_000) }
    let caller = try network(0)
    #expect(clients.may(.askChain, caller))
    #expect(clients.may(.askChain, caller))
    for number in 1...20_000 {
      #expect(clients.may(.store, try network(number), amount: 100_000))
    }
    #expect(!clients.may(.askChain, caller))
  }

  /// Networks of IPv6 are to be had for nothing: their site has the calls.
  @Test func callsOfASiteAreCountedTogether() throws {
    var limits = ClientLimits()
    limits.chainCallsPerAddress = 2
    let clients = ClientAccounting(limits) { Timestamp(seconds: 1_000_000) }
    var calls: [Bool] = []
    for text in ["2001:db8:1:1::1", "2001:db8:1:2::1", "2001:db8:1:3::1", "2001:db8:2:1::1"] {
      let address = try #require(IPAddress(text))
      calls.append(clients.may(.askChain, ClientNetwork(of: address)))
    }
    #expect(calls == [true, true, false, true])
  }
}
