extension Unicode.Scalar {
  /// True if the character can't change a terminal's state or direction, nor move its cursor to another line.
  package var isPrintable: Bool {
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: false
    default: true
    }
  }
}

extension String {
  /// The text with a replacement character for everything that could move a terminal's cursor.
  ///
  /// For text that others wrote, such as names of users.
  package var printable: String { keeping { $0.isPrintable } }

  /// The lines, each with ``printable`` text. Tabs stay.
  ///
  /// For everything that a command writes, whatever it is made of.
  package var printableLines: String {
    // Nearly all output is plain.
    if utf8.allSatisfy({ (0x20..<0x7f).contains($0) || $0 == 0x0a || $0 == 0x09 }) { return self }
    return keeping { $0 == "\n" || $0 == "\t" || $0.isPrintable }
  }

  /// Puts replacement characters in the place of all that may not stay.
  private func keeping(_ mayStay: (Unicode.Scalar) -> Bool) -> String {
    String(String.UnicodeScalarView(unicodeScalars.map { mayStay($0) ? $0 : "\u{FFFD}" }))
  }
}
