import Glibc

/// What standard output is written to.
enum Terminal {
  /// How many characters a line has room for; nil where that does not matter.
  ///
  /// - Parameter environment: `COLUMNS` counts before what the terminal says.
  static func width(_ environment: [String: String]) -> Int? {
    if let columns = environment["COLUMNS"].flatMap({ Int($0) }), columns > 0 { return columns }
    var size = winsize()
    guard isatty(STDOUT_FILENO) == 1,
      unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0
    else { return nil }
    return Int(size.ws_col)
  }
}
