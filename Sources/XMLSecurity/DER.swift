/// The parts of DER (X.690) that a SubjectPublicKeyInfo consists of (RFC 3279, RFC 5480).
enum DER {
  /// Encodes the SubjectPublicKeyInfo of an RSA key, given its big-endian numbers.
  static func rsaKey(modulus: [UInt8], exponent: [UInt8]) -> [UInt8] {
    sequence(sequence(rsaEncryption + null) + bits(sequence(integer(modulus) + integer(exponent))))
  }

  /// Encodes the SubjectPublicKeyInfo of a point, or returns nil for RSA.
  static func curveKey(_ curve: PublicKey.Kind, point: [UInt8]) -> [UInt8]? {
    curve.curve.map { sequence(sequence(ecPublicKey + $0.der) + bits(point)) }
  }

  /// 1.2.840.113549.1.1.1
  private static let rsaEncryption: [UInt8] = [
    0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01,
  ]
  /// 1.2.840.10045.2.1
  private static let ecPublicKey: [UInt8] = [0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01]

  private static let null: [UInt8] = [0x05, 0x00]

  private static func sequence(_ content: [UInt8]) -> [UInt8] { value(0x30, content) }

  private static func bits(_ content: [UInt8]) -> [UInt8] { value(0x03, [0] + content) }

  /// Encodes a number that is not negative, given its big-endian bytes.
  private static func integer(_ bytes: [UInt8]) -> [UInt8] {
    let digits = [UInt8](bytes.drop { $0 == 0 })
    return value(0x02, digits.first.map { $0 < 0x80 } == true ? digits : [0] + digits)
  }

  private static func value(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
    guard content.count >= 0x80 else { return [tag, UInt8(content.count)] + content }
    let length =
      [UInt8(content.count >> 16 & 0xff), UInt8(content.count >> 8 & 0xff)]
      .drop { $0 == 0 } + [UInt8(content.count & 0xff)]
    return [tag, 0x80 | UInt8(length.count)] + length + content
  }
}
