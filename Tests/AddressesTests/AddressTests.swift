internal import Addresses
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
}
