internal import HTTPProtocol

/// A server's response to a client's handshake.
package func acceptance(of request: String) -> String {
  let line = request.split(separator: "\r\n").first { $0.hasPrefix("Sec-WebSocket-Key: ") } ?? ""
  let key = Array(line.utf8.dropFirst("Sec-WebSocket-Key: ".utf8.count))
  return """
    HTTP/1.1 101 Switching Protocols\r
    Upgrade: websocket\r
    Connection: Upgrade\r
    Sec-WebSocket-Accept: \(WebSocketHandshake.accept(key: key, sha1: sha1))\r
    \r\n
    """
}

extension RawConnection {
  /// Reads a handshake and accepts it.
  package func acceptWebSocket() { write(acceptance(of: readHead())) }
}

/// SHA-1 by the textbook (FIPS 180-4), so that the handshake is checked against another implementation.
private func sha1(_ message: [UInt8]) -> [UInt8] {
  var state: [UInt32] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0]
  var bytes = message + [0x80]
  while bytes.count % 64 != 56 { bytes.append(0) }
  bytes += (0..<8).reversed().map { UInt8(truncatingIfNeeded: (message.count * 8) >> ($0 * 8)) }
  func rotate(_ value: UInt32, _ count: UInt32) -> UInt32 {
    value << count | value >> (32 - count)
  }
  for block in stride(from: 0, to: bytes.count, by: 64) {
    var words = (0..<16).map { word in
      bytes[(block + word * 4)..<(block + word * 4 + 4)].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    }
    for index in 16..<80 {
      words.append(
        rotate(words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16], 1))
    }
    var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
    for (index, word) in words.enumerated() {
      let (mix, constant): (UInt32, UInt32) =
        switch index {
        case ..<20: (b & c | ~b & d, 0x5a82_7999)
        case ..<40: (b ^ c ^ d, 0x6ed9_eba1)
        case ..<60: (b & c | b & d | c & d, 0x8f1b_bcdc)
        default: (b ^ c ^ d, 0xca62_c1d6)
        }
      (a, b, c, d, e) = (rotate(a, 5) &+ mix &+ e &+ constant &+ word, a, rotate(b, 30), c, d)
    }
    state = zip(state, [a, b, c, d, e]).map { $0 &+ $1 }
  }
  return state.flatMap { word in (0..<4).reversed().map { UInt8(word >> ($0 * 8) & 0xff) } }
}
