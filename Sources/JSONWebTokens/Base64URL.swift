/// The alphabet that JSON Web Tokens and keys are written in (RFC 4648 section 5), without padding.
enum Base64URL {
  /// Whether a text has only signs of the alphabet, and as many as some number of bytes makes.
  ///
  /// Nothing else may reach cjose, whose decoder ends the process at a single sign behind the last four.
  static func isWellFormed(_ text: some Collection<UInt8>) -> Bool {
    !text.isEmpty && text.count % 4 != 1
      && text.allSatisfy { sign in
        switch sign {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
          true
        default: false
        }
      }
  }
}
