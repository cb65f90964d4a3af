internal import Cryptography

/// The names by which IPFS knows bytes (CIDs), as its usual tools give them: a file of UnixFS in chunks of 262,144 bytes.
package enum ContentIdentifiers {
  private static let chunkSize = 262_144
  private static let unixFSCodec: UInt8 = 0x70
  private static let rawCodec: UInt8 = 0x55
  private static let base36Digits = Array("0123456789abcdefghijklmnopqrstuvwxyz")
  private static let base58Digits = Array(
    "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz")
  /// The most characters of an identifier that is read, in any spelling.
  private static let longestName = 100

  /// Returns the identifiers of some bytes: with leaves of Protocol Buffers version 0 and the same as version 1, and with
  /// raw leaves version 1.
  ///
  /// - Parameter bytes: at most 174 chunks, which the links of one node can name.
  package static func all(of bytes: [UInt8]) -> [String] {
    let chunks = stride(from: 0, to: max(1, bytes.count), by: chunkSize).map {
      bytes[$0..<min($0 + chunkSize, bytes.count)]
    }
    let leaves = chunks.map { node(data: $0, of: $0.count) }
    let raw = chunks.map { (hash: cid(rawCodec, hash(Array($0))), size: $0.count) }
    guard chunks.count > 1 else {
      let leaf = hash(leaves[0])
      return [base58(leaf), base32(cid(unixFSCodec, leaf)), base32(raw[0].hash)]
    }
    let root = hash(self.root(leaves.map { (hash($0), $0.count) }, chunks.map(\.count)))
    let rawRoot = hash(self.root(raw, chunks.map(\.count)))
    return [base58(root), base32(cid(unixFSCodec, root)), base32(cid(unixFSCodec, rawRoot))]
  }

  /// Returns the identifier that a URI names without a path behind it, `ipfs://[ipfs/]<cid>` or `https://<host>/ipfs/<cid>`,
  /// with or without a query, spelled as ``all(of:)`` does; nil for any other URI.
  package static func named(by uri: String) -> String? {
    let location = uri.prefix { $0 != "?" && $0 != "#" }
    let parts = location.split(separator: "/", omittingEmptySubsequences: false)
    let isNamed =
      switch (parts.first?.lowercased(), parts.count) {
      case ("ipfs:", 3): parts[1].isEmpty
      case ("ipfs:", 4): parts[1].isEmpty && parts[2] == "ipfs"
      case ("https:", 5): parts[1].isEmpty && !parts[2].isEmpty && parts[3] == "ipfs"
      default: false
      }
    guard isNamed, let name = parts.last else { return nil }
    return usualSpelling(of: String(name))
  }

  /// Returns an identifier of version 1 in base 32 and lower case, by whatever mark (multibase) another spelling of its bytes
  /// begins with; any other text as it is.
  private static func usualSpelling(of name: String) -> String {
    let text = name.dropFirst()
    if name.first == "B", !text.contains(where: \.isLowercase) { return name.lowercased() }
    let bytes: [UInt8]? =
      switch name.first {
      case "f", "F": Hex.decode(text.utf8)
      case "k" where !text.contains(where: \.isUppercase): number(text, in: base36Digits)
      case "K" where !text.contains(where: \.isLowercase):
        number(text.lowercased()[...], in: base36Digits)
      case "z": number(text, in: base58Digits)
      case "u": Base64URL.decode(String(text))
      default: nil
      }
    return bytes.map(base32) ?? name
  }

  /// Reads the bytes of a number, the highest first, in digits of which the first stands for 0; nil for a text with others, or
  /// one that is longer than any identifier.
  private static func number(_ text: Substring, in digits: [Character]) -> [UInt8]? {
    guard (1...longestName).contains(text.count) else { return nil }
    var bytes: [UInt8] = []
    for character in text {
      guard var carry = digits.firstIndex(of: character) else { return nil }
      for index in bytes.indices.reversed() {
        carry += Int(bytes[index]) * digits.count
        bytes[index] = UInt8(carry & 0xff)
        carry >>= 8
      }
      if carry > 0 { bytes.insert(UInt8(carry), at: 0) }
    }
    return bytes
  }

  /// Hashes bytes, with the mark of SHA-256 and its length in front (multihash).
  private static func hash(_ bytes: [UInt8]) -> [UInt8] { [0x12, 0x20] + SHA256.hash(bytes).bytes }

  private static func cid(_ codec: UInt8, _ hash: [UInt8]) -> [UInt8] { [0x01, codec] + hash }

  // MARK: Protocol Buffers

  /// Encodes a node that holds a part of a file, or the lengths of its parts.
  private static func node(
    links: [UInt8] = [], data: ArraySlice<UInt8>? = nil, of size: Int, parts: [Int] = []
  ) -> [UInt8] {
    var file: [UInt8] = [0x08, 0x02]  // The kind of node: a file.
    if let data { file += field(2, data) }
    file += [0x18] + number(size)
    for part in parts { file += [0x20] + number(part) }
    return links + field(1, file[...])
  }

  /// Encodes the node that links the parts of a file, which have names of no bytes.
  private static func root(_ parts: [(hash: [UInt8], size: Int)], _ sizes: [Int]) -> [UInt8] {
    let links = parts.flatMap { part in
      field(2, (field(1, part.hash[...]) + [0x12, 0x00, 0x18] + number(part.size))[...])
    }
    return node(links: links, of: sizes.reduce(0, +), parts: sizes)
  }

  private static func field(_ key: UInt8, _ content: ArraySlice<UInt8>) -> [UInt8] {
    [key << 3 | 2] + number(content.count) + content
  }

  private static func number(_ value: Int) -> [UInt8] {
    value < 0x80
      ? [UInt8(value)] : [UInt8(value & 0x7f) | 0x80] + number(value >> 7)
  }

  // MARK: Text

  private static func base58(_ bytes: [UInt8]) -> String {
    // No multihash begins with a zero.
    String(bytes.digits(base: 58).map { base58Digits[$0] })
  }

  /// Encodes bytes as RFC 4648 does, in lower case and without padding, with the mark of that (multibase) in front.
  private static func base32(_ bytes: [UInt8]) -> String {
    let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567")
    var text = "b"
    var rest = (bits: 0, count: 0)
    for byte in bytes {
      rest = (rest.bits << 8 | Int(byte), rest.count + 8)
      while rest.count >= 5 {
        rest.count -= 5
        text.append(alphabet[rest.bits >> rest.count])
        rest.bits &= (1 << rest.count) - 1
      }
    }
    if rest.count > 0 { text.append(alphabet[rest.bits << (5 - rest.count)]) }
    return text
  }
}
