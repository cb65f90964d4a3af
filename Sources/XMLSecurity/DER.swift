/// The few values of DER (X.690) of which a SubjectPublicKeyInfo is made.
enum DER {
  /// 1.2.840.113549.1.1.1
  static let rsaEncryption: [UInt8] = [
    0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01,
  ]
  /// 1.2.840.10045.2.1
  static let ecPublicKey: [UInt8] = [0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01]

  static let null: [UInt8] = [0x05, 0x00]

  static func sequence(_ content: [UInt8]) -> [UInt8] { value(0x30, content) }

  static func bits(_ content: [UInt8]) -> [UInt8] { value(0x03, [0] + content) }

  /// A number that is not negative, from its big-endian bytes.
  static func integer(_ bytes: [UInt8]) -> [UInt8] {
    let digits = [UInt8](bytes.drop { $0 == 0 })
    return value(0x02, digits.first.map { $0 < 0x80 } == true ? digits : [0] + digits)
  }

  private static func value(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
    guard content.count >= 0x80 else { return [tag, UInt8(content.count)] + content }
    let length = [UInt8(content.count >> 16 & 0xff), UInt8(content.count >> 8 & 0xff)]
      .drop { $0 == 0 } + [UInt8(content.count & 0xff)]
    return [tag, 0x80 | UInt8(length.count)] + length + content
  }
}

extension SigningKey.Kind {
  /// The curve's object identifier; nil for RSA.
  var curveIdentifier: [UInt8]? {
    switch self {
    case .rsa: nil
    case .p256: [0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07]
    case .p384: [0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x22]
    case .p521: [0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x23]
    case .secp256k1: [0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x0a]
    }
  }
}
