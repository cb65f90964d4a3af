internal import Formats
internal import Testing

@Suite struct ClientNetworkTests {
  private func network(_ text: String) throws -> ClientNetwork {
    ClientNetwork(of: try #require(IPAddress(text)))
  }

  @Test func anIPv4AddressIsANetworkOfItsOwn() throws {
    #expect(try network("192.0.2.1") == network("::ffff:192.0.2.1"))
    #expect(try network("192.0.2.1") != network("192.0.2.2"))
    #expect(try network("192.0.2.1").description == "192.0.2.1")
  }

  @Test func anIPv6NetworkHas64Bits() throws {
    #expect(try network("2001:db8:1:2::1") == network("2001:db8:1:2:ffff::"))
    #expect(try network("2001:db8:1:2::1") != network("2001:db8:1:3::1"))
    #expect(try network("2001:db8:1:2::1").description == "2001:db8:1:2::/64")
    #expect(try network("::1").description == "::/64")
    #expect(try network("::1") != network("0.0.0.0"))
  }

  @Test func aSiteIsWhatSomebodyMayHaveAllOf() throws {
    #expect(try network("192.0.2.1").site == "192.0.2.1")
    #expect(try network("192.0.2.1").siteKey == network("192.0.2.255").siteKey)
    #expect(try network("192.0.2.1").siteKey != network("192.0.3.1").siteKey)
    #expect(try network("2001:db8:1:2::1").site == "2001:db8:1::/48")
    #expect(try network("2001:db8:1:2::1").siteKey == network("2001:db8:1:ffff::1").siteKey)
    #expect(try network("2001:db8:1:2::1").siteKey != network("2001:db8:2:2::1").siteKey)
    #expect(try network("::1").siteKey != network("0.0.0.1").siteKey)
  }
}
