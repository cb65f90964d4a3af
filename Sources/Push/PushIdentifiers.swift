internal import Cryptography
internal import Platform

/// Makes the random UUIDs (RFC 9562 section 5.4) by which Apple knows pushes.
///
/// Random bytes are fetched for many of them at once: a call of the system for each would take longer than all else.
final class PushIdentifiers: Sendable {
  private static let length = 16
  private static let fetched = 64 * length
  private static let groups = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32]

  private let random = Lock<[UInt8]>([])

  /// Returns an identifier in lower case.
  func next() -> String {
    var bytes = removeFetched() ?? fetch()
    // Version 4, and the variant of the standard.
    bytes[6] = bytes[6] & 0x0f | 0x40
    bytes[8] = bytes[8] & 0x3f | 0x80
    return Self.text(of: bytes)
  }

  private func removeFetched() -> [UInt8]? {
    random.withLock { random in
      guard !random.isEmpty else { return nil }
      let bytes = Array(random.suffix(Self.length))
      random.removeLast(Self.length)
      return bytes
    }
  }

  /// Fetches bytes, of which those that aren't returned wait for others. Threads that do so at once each add theirs.
  private func fetch() -> [UInt8] {
    let fetched = SecureRandom.bytes(Self.fetched)
    random.withLock { $0.append(contentsOf: fetched.dropFirst(Self.length)) }
    return Array(fetched.prefix(Self.length))
  }

  private static func text(of bytes: [UInt8]) -> String {
    let digits = Array(Hex.encode(bytes).utf8)
    let text = groups.map { digits[$0] }.joined(separator: "-".utf8)
    return String(decoding: Array(text), as: UTF8.self)
  }
}
