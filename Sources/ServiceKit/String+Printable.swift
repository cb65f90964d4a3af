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
}
