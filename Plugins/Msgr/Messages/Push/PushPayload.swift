/// The payload of a push: JSON of at most 4,096 bytes, in which the alert's copy of the message is cut to fit.
///
/// ``MessageText/fitsIntoPush(from:)`` tells whether the message itself fits.
package enum PushPayload {
  /// The highest badge that is shown, which takes all digits that are set aside for a badge.
  private static let highestBadge = 9_999_999

  /// Returns the payload of a push, in UTF-8.
  package static func json(of push: Push) -> [UInt8] {
    let sender = push.sender.text.asJSON
    var head = Array(#"{"aps":{"alert":{"title":"#.utf8) + sender + Array(#","body":""#.utf8)
    var tail = Array(#""},"sound":"default","badge":"#.utf8)
    tail += Array(String(min(push.badge, highestBadge)).utf8)
    tail += Array(#"},"UserFrom":"#.utf8) + sender
    tail += Array(#","Message":"#.utf8) + push.text.text.asJSON
    tail += Array(#","Id":""#.utf8) + Array(push.message.text.utf8) + Array(#"""#.utf8)
    if push.isAddRequest { tail += Array(#","AddRequest":true"#.utf8) }
    tail.append(UInt8(ascii: "}"))

    var room = MessageText.longestPush - head.count - tail.count
    for character in push.text.text {
      let escaped = character.utf8.flatMap(\.escapedInJSON)
      guard escaped.count <= room else { break }
      room -= escaped.count
      head += escaped
    }
    return head + tail
  }
}

extension String {
  /// The text as a JSON string (RFC 8259 section 7), with no more escaped than must be.
  package var asJSON: [UInt8] {
    [UInt8(ascii: "\"")] + utf8.flatMap(\.escapedInJSON) + [UInt8(ascii: "\"")]
  }
}

extension UInt8 {
  fileprivate var escapedInJSON: [UInt8] {
    switch self {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): [UInt8(ascii: "\\"), self]
    case 0x09: Array(#"\t"#.utf8)
    case 0x0a: Array(#"\n"#.utf8)
    case 0x0d: Array(#"\r"#.utf8)
    case 0..<0x20:
      Array((self < 0x10 ? #"\u000"# : #"\u00"#).utf8) + Array(String(self, radix: 16).utf8)
    default: [self]
    }
  }
}
