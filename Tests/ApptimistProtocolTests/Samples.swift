internal import ApptimistProtocol
internal import Cryptography
internal import Testing

/// A PDU, and its header as the page's formula writes it.
struct Sample: Sendable, CustomTestStringConvertible {
  let pdu: PDU
  let header: [UInt8]
  let testDescription: String

  init(_ name: String, _ pdu: PDU, _ parts: [UInt8]...) {
    self.pdu = pdu
    header = Array(parts.joined())
    testDescription = name
  }
}

/// Makes bytes that are all the same.
func filled(_ byte: UInt8, _ count: Int) -> [UInt8] { [UInt8](repeating: byte, count: count) }

/// Makes a value whose bytes are all the same.
func fixed<Value: FixedBytes>(_ byte: UInt8) -> Value {
  Value(filled(byte, Value.byteCount)) ?? Value()
}

func key(_ byte: UInt8) -> EncryptionPublicKey { fixed(byte) }

func short(_ text: String) -> ShortBytes { ShortBytes(text) ?? .empty }

private func redirect(_ uri: String) -> PDU {
  PDU.Redirect(uri: uri).map(PDU.redirect) ?? .pause(.init())
}

extension Sample {
  private static let signature = fixed(0x5a) as Signature
  private static let message = fixed(0x4d) as MessageID
  private static let longest = filled(0xff, 255)
  private static let max = ShortBytes(longest) ?? .empty

  static let all: [Sample] = [
    Sample(
      "login", .login(.init(user: key(0x11), signature: signature, max: 0x0102, head: message)),
      [1, 1], filled(0x11, 32), filled(0x5a, 64), [1, 2], filled(0x4d, 64)),
    Sample(
      "login from nothing",
      .login(.init(user: key(0x11), signature: signature, max: 0, head: MessageID())),
      [1, 1], filled(0x11, 32), filled(0x5a, 64), [0, 0], filled(0, 64)),
    Sample(
      "redirect", redirect("ws://b.example/siren"),
      [1, 2], [0, 20], Array("ws://b.example/siren".utf8)),
    Sample("redirect to nowhere", redirect(""), [1, 2, 0, 0]),
    Sample(
      "redirect far", redirect(String(repeating: "u", count: 65_535)),
      [1, 2, 0xff, 0xff], filled(UInt8(ascii: "u"), 65_535)),
    Sample(
      "new",
      .new(
        .init(
          key: key(0x21), authenticationKey: fixed(0x22),
          name: short("Zoë"), uid: short("42"), token: short("secret"))),
      [1, 3], filled(0x21, 32), filled(0x22, 32), [4, 2, 6], [0x5a, 0x6f, 0xc3, 0xab],
      Array("42secret".utf8)),
    Sample(
      "new forum",
      .new(
        .init(
          key: key(0x21), authenticationKey: AuthenticationPublicKey(), name: short("f"),
          uid: .empty, token: .empty)),
      [1, 3], filled(0x21, 32), filled(0, 32), [1, 0, 0], [0x66]),
    Sample(
      "new with all there is room for",
      .new(
        .init(
          key: key(1), authenticationKey: fixed(2), name: max,
          uid: max, token: max)),
      [1, 3], filled(1, 32), filled(2, 32), [255, 255, 255], longest, longest, longest),
    Sample("del", .del(.init(key: key(0x31))), [1, 4], filled(0x31, 32)),
    Sample(
      "message",
      .message(
        .init(time: 0x0102_0304_0506_0708, recipient: key(0x41), to: key(0x42), from: key(0x43))),
      [1, 5], [1, 2, 3, 4, 5, 6, 7, 8], filled(0x41, 32), filled(0x42, 32), filled(0x43, 32)),
    Sample("truncate", .truncate(.init(message: message)), [1, 6], filled(0x4d, 64)),
    Sample("pause", .pause(.init()), [1, 7]),
    Sample("resume", .resume(.init()), [1, 8]),
    Sample(
      "vouch", .vouch(.init(subject: key(0x51), signature: signature)),
      [1, 9], filled(0x51, 32), filled(0x5a, 64)),
    Sample(
      "vouchers, asked for", .vouchers(.init(subject: key(0x61), vouchers: [])),
      [1, 10], filled(0x61, 32), [0, 0, 0, 0]),
    Sample(
      "vouchers", .vouchers(.init(subject: key(0x61), vouchers: [key(3), key(1), key(2)])),
      [1, 10], filled(0x61, 32), [0, 0, 0, 3], filled(3, 32), filled(1, 32), filled(2, 32)),
    Sample(
      "searchByName", .searchByName(.init(maxUsers: 0x0a0b, text: short("Al*"))),
      [1, 11, 0x0a, 0x0b, 3], Array("Al*".utf8)),
    Sample(
      "searchByName of nothing", .searchByName(.init(maxUsers: 0, text: .empty)),
      [1, 11, 0, 0, 0]),
    Sample(
      "searchByUid", .searchByUid(.init(maxUsers: 1, text: max)), [1, 12, 0, 1, 255], longest),
    Sample("searchByKey", .searchByKey(.init(key: key(0x71))), [1, 13], filled(0x71, 32)),
    Sample(
      "user", .user(.init(count: 0x0203, key: key(0x81), name: short("Al"), uid: short("7"))),
      [1, 14, 2, 3], filled(0x81, 32), [2, 1], Array("Al7".utf8)),
    Sample("user, nobody", .user(.nobody), [1, 14], filled(0, 36)),
    Sample(
      "read", .read(.init(directory: key(0x91), filename: short("a.txt"))),
      [1, 15], filled(0x91, 32), [0, 0, 5], Array("a.txt".utf8)),
    Sample(
      "lock", .lock(.init(directory: key(0x92), error: .locked, filename: short("b"))),
      [1, 16], filled(0x92, 32), [0, 3, 1], Array("b".utf8)),
    Sample(
      "write",
      .write(.init(directory: key(0x93), error: ErrorCode(rawValue: 0xfffe), filename: max)),
      [1, 17], filled(0x93, 32), [0xff, 0xfe, 255], longest),
    Sample(
      "remove", .remove(.init(directory: key(0x94), error: .badFilename, filename: .empty)),
      [1, 18], filled(0x94, 32), [0, 4, 0]),
  ]
}
