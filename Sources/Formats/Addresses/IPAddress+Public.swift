extension IPAddress {
  /// The networks that are no part of the public Internet (the IANA special-purpose registries), or lead into it by another
  /// network's addresses.
  private static let special: [AddressRange] = [
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
    "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15",
    "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
    // Of IPv6 only 2000::/3 is public, without Teredo, benchmarks, ORCHID, documentation and 6to4.
    "::/3", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "4000::/2", "8000::/1",
  ].compactMap(AddressRange.init)

  /// True if the address is a host's on the public Internet.
  ///
  /// Loopback, private, link-local, shared, multicast, documentation and benchmark addresses are not; nor are those that
  /// embed an IPv4 address (NAT64, 6to4, Teredo, IPv4-compatible), whichever that is.
  package var isPublic: Bool { !Self.special.contains { $0.contains(self) } }
}
