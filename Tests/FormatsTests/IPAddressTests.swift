internal import Formats
internal import Testing

@Suite struct AddressTests {
  @Test(arguments: [
    ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.0", false),
    ("10.1.2.3/8", "10.9.9.9", true), ("10.1.2.3", "10.1.2.3", true),
    ("10.1.2.3", "10.1.2.4", false), ("0.0.0.0/0", "255.1.2.3", true),
    ("192.168.1.128/25", "192.168.1.127", false), ("192.168.1.128/25", "192.168.1.129", true),
    ("10.0.0.0/8", "::ffff:10.1.2.3", true), ("::ffff:10.0.0.0/104", "10.1.2.3", true),
    ("::ffff:0:0/96", "1.2.3.4", true), ("::ffff:10.1.2.3", "10.1.2.3", true),
    ("fd00::/8", "fdff::1", true), ("fd00::/8", "fe00::1", false), ("::1", "::1", true),
    ("::/0", "::1", true), ("::/0", "127.0.0.1", false), ("0.0.0.0/0", "::1", false),
    ("2001:db8::/33", "2001:db8:7fff::", true), ("2001:db8::/33", "2001:db8:8000::", false),
  ])
  func addressRange(range: String, address: String, contains: Bool) throws {
    let range = try #require(AddressRange(range))
    #expect(range.contains(try #require(IPAddress(address))) == contains)
  }

  @Test(arguments: [
    "", "/", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/8/8", "10.0.0/8",
    "::/129", "::ffff:10.0.0.0/95", "10.0.0.0/99999999999999999999", "localhost", "1.2.3.4\u{0}",
    "[::1]", " 10.0.0.1", "fe80::1%eth0",
  ])
  func noAddressRange(text: String) {
    #expect(AddressRange(text) == nil)
  }

  @Test(arguments: [
    ("10.1.2.3/8", "10.0.0.0/8"), ("10.1.2.3/32", "10.1.2.3"),
    ("2001:DB8:0::1/32", "2001:db8::/32"),
    ("::ffff:10.0.0.0/104", "10.0.0.0/8"),
  ])
  func rangeDescription(text: String, description: String) {
    #expect(AddressRange(text)?.description == description)
  }

  @Test func addresses() {
    #expect(IPAddress("127.9.9.9")?.isLoopback == true)
    #expect(IPAddress("::ffff:127.0.0.1") == .loopback)
    #expect(IPAddress("::1")?.isLoopback == true && IPAddress("::2")?.isLoopback == false)
    #expect(IPAddress("128.0.0.1")?.isLoopback == false && IPAddress("1::1")?.isLoopback == false)
    #expect(IPAddress(bytes: [1, 2, 3]) == nil && IPAddress(bytes: []) == nil)
    #expect(IPAddress(bytes: [1, 2, 3, 4])?.description == "1.2.3.4")
  }

  @Test(arguments: [
    ("1.1.1.1", true), ("100.63.255.255", true), ("100.128.0.0", true), ("172.32.0.1", true),
    ("2606:4700::1", true), ("2a00:1450:4001:800::200e", true), ("2001:4860:4860::8888", true),
    ("0.0.0.0", false), ("127.0.0.1", false), ("10.1.2.3", false), ("172.31.255.255", false),
    ("192.168.1.1", false), ("169.254.169.254", false), ("100.64.0.1", false),
    ("192.0.2.1", false), ("198.18.0.1", false), ("198.51.100.9", false), ("203.0.113.9", false),
    ("224.0.0.1", false), ("240.0.0.1", false), ("255.255.255.255", false), ("::", false),
    ("::1", false), ("::ffff:127.0.0.1", false), ("::ffff:1.1.1.1", true), ("::1.1.1.1", false),
    ("64:ff9b::a00:1", false), ("64:ff9b:1::1", false), ("2002:7f00:1::", false),
    ("2001::1", false), ("2001:db8::1", false), ("fc00::1", false), ("fd12::1", false),
    ("fe80::1", false), ("fec0::1", false), ("ff02::1", false), ("3fff::1", false),
  ])
  func knowsThePublicInternet(_ text: String, _ isPublic: Bool) throws {
    #expect(try #require(IPAddress(text)).isPublic == isPublic)
  }
}

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
    #expect(try network("192.0.2.1").site == "192.0.2.0/24")
    #expect(try network("192.0.2.1").subscriber == "192.0.2.1")
    #expect(try network("2001:db8:1:2::1").subscriber == "2001:db8:1::/48")
    for text in ["192.0.2.1", "2001:db8:1:2::1"] {
      let network = try network(text)
      #expect(ClientNetwork(words: network.description) == network)
    }
    #expect(ClientNetwork(words: "a device") == nil)
    #expect(try network("192.0.2.1").siteKey == network("192.0.2.255").siteKey)
    #expect(try network("192.0.2.1").siteKey != network("192.0.3.1").siteKey)
    #expect(try network("2001:db8:1:2::1").site == "2001:db8:1::/48")
    #expect(try network("2001:db8:1:2::1").siteKey == network("2001:db8:1:ffff::1").siteKey)
    #expect(try network("2001:db8:1:2::1").siteKey != network("2001:db8:2:2::1").siteKey)
    #expect(try network("::1").siteKey != network("0.0.0.1").siteKey)
  }
}
