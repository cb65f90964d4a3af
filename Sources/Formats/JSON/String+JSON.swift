extension String {
  /// The text as it stands between the quotation marks of a JSON string (RFC 8259 section 7), with no more escaped than
  /// must be.
  package var escapedInJSON: String {
    unicodeScalars.reduce(into: "") { text, scalar in
      switch scalar {
      case "\"", "\\": text += "\\\(scalar)"
      case "\t": text += #"\t"#
      case "\n": text += #"\n"#
      case "\r": text += #"\r"#
      case "\0"..<" ":
        text += (scalar.value < 0x10 ? #"\u000"# : #"\u00"#) + String(scalar.value, radix: 16)
      default: text.unicodeScalars.append(scalar)
      }
    }
  }
}
