internal import Formats
internal import Fuzzing
internal import HTTPProtocol
internal import Routing

/// Looks through proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are these bytes: the origin is an address, and a
/// peer that is no trusted proxy is believed nothing.
///
/// The first line is `X-Forwarded-For`, the second `X-Forwarded-Proto`.
@main enum ForwardedForFuzzer: Fuzzer {
  private static let trusted = ["127.0.0.1", "10.0.0.0/8", "2001:db8::/32"].compactMap {
    AddressRange($0)
  }

  static func test(_ bytes: [UInt8]) {
    let lines = bytes.split(
      separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false)
    let names = ["x-forwarded-for", "x-forwarded-proto"].prefix(lines.count)
    guard
      let head = RequestHead(
        method: .get, path: "/",
        fields: zip(names, lines).map { (name: Array($0.utf8), value: Array($1)) })
    else { return }
    let proxies = TrustedProxies(trusted)
    for peer in ["127.0.0.1", "10.1.2.3", "2001:db8::1", ""] {
      let origin = proxies.origin(of: head, from: RequestOrigin(peer: peer, id: 7))
      precondition(origin.peer == peer || IPAddress(origin.peer).map { "\($0)" } == origin.peer)
      precondition(origin.id == 7)
    }
    for peer in ["192.0.2.1", "::1"] {
      let origin = proxies.origin(of: head, from: RequestOrigin(peer: peer, id: 7))
      precondition(origin.peer == peer && !origin.isSecure)
    }
  }
}
