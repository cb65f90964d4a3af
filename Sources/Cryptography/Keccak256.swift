internal import CNettle

/// Keccak-256 as Ethereum uses it: the sponge of SHA-3 with the padding it had before FIPS 202.
///
/// FIPS 202 appends the bits `01` to the message and the original Keccak nothing, so the first padding byte is `0x01`
/// here and `0x06` in `SHA3-256`: the two never agree.
public enum Keccak256 {
  /// A digest: 32 bytes.
  public typealias Digest = Digest256<Keccak256>

  /// The sponge's rate in bytes: 1600 bits of state less twice the 256 bits of output.
  private static let rate = 136

  /// Hashes a message.
  ///
  /// - Parameter message: any number of bytes.
  public static func hash(_ message: [UInt8]) -> Digest {
    var state = sha3_state()
    var offset = 0
    while message.count - offset >= rate {
      state.absorb(message[offset..<offset + rate])
      offset += rate
    }
    var last = [UInt8](message[offset...])
    last.append(0x01)
    last.append(contentsOf: repeatElement(0, count: rate - last.count))
    last[rate - 1] |= 0x80
    state.absorb(last[...])
    // The output is the first lanes, each little-endian.
    var digest = Digest()
    digest.words.first = state.a.0.littleEndian
    digest.words.second = state.a.1.littleEndian
    digest.words.third = state.a.2.littleEndian
    digest.words.fourth = state.a.3.littleEndian
    return digest
  }
}

extension sha3_state {
  /// Adds one block of `rate` bytes as little-endian lanes, and permutes.
  fileprivate mutating func absorb(_ block: ArraySlice<UInt8>) {
    unsafe withUnsafeMutableBytes(of: &a) { bytes in
      let lanes = unsafe bytes.assumingMemoryBound(to: UInt64.self)
      for (index, byte) in block.enumerated() {
        unsafe lanes[index / 8] ^= UInt64(byte) << (8 * UInt64(index % 8))
      }
    }
    unsafe nettle_sha3_permute(&self)
  }
}
