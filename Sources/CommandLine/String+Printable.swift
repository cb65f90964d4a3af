extension String {
  /// The text with a replacement character for everything that could move a terminal's cursor.
  ///
  /// For text that others wrote, such as names of users.
  public var printable: String {
    var text = String.UnicodeScalarView()
    for scalar in unicodeScalars {
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator: text.append("\u{FFFD}")
      default: text.append(scalar)
      }
    }
    return String(text)
  }

  /// The lines, each with ``printable`` text. Tabs stay.
  ///
  /// For everything that a command writes, whatever it is made of.
  public var printableLines: String {
    // Nearly all output is plain.
    if utf8.allSatisfy({ (0x20..<0x7f).contains($0) || $0 == 0x0a || $0 == 0x09 }) { return self }
    return String(
      String.UnicodeScalarView(
        unicodeScalars.map { scalar -> Unicode.Scalar in
          switch scalar {
          case "\n", "\t": scalar
          default:
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: "\u{FFFD}"
            default: scalar
            }
          }
        }))
  }
}
