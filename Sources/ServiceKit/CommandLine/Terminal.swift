internal import Glibc

/// The terminal of a command, if its standard streams are one.
package enum Terminal {
  /// Returns the number of characters in a line.
  ///
  /// - Parameter environment: the environment variables. `COLUMNS` counts before the terminal's own width.
  /// - Returns: the width, or nil if standard output is no terminal.
  package static func width(_ environment: [String: String]) -> Int? {
    if let columns = environment["COLUMNS"].flatMap({ Int($0) }), columns > 0 { return columns }
    var size = winsize()
    guard isatty(STDOUT_FILENO) == 1,
      unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0
    else { return nil }
    return Int(size.ws_col)
  }

  /// Shows the progress of long work on standard error: as a bar on a terminal, else as a line.
  ///
  /// - Parameters:
  ///   - done: the number of things that are done.
  ///   - total: the number of all things.
  ///   - things: the kind of things, such as `files`.
  package static func showProgress(_ done: Int, of total: Int, _ things: String) {
    let words = "\(done) of \(total) \(things)"
    guard isatty(STDERR_FILENO) == 1 else { return complain("\(words)\n") }
    let full = total > 0 ? barLength * done / total : 0
    let bar = String(repeating: "#", count: full) + String(repeating: ".", count: barLength - full)
    complain("\(startOfLine)[\(bar)] \(words)")
  }

  /// Removes the bar.
  package static func clearProgress() { if isatty(STDERR_FILENO) == 1 { complain(startOfLine) } }

  /// Reads a line of standard input, which a terminal doesn't show.
  ///
  /// - Parameter prompt: a prompt that is written to standard error if standard input is a terminal.
  /// - Returns: the line without its end, or nil if there is none.
  package static func hiddenLine(prompt: String) -> String? {
    var settings = termios()
    guard unsafe tcgetattr(STDIN_FILENO, &settings) == 0 else { return readLine() }
    var hidden = settings
    hidden.c_lflag &= ~tcflag_t(ECHO)
    unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden)
    defer {
      unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings)
      complain("\n")
    }
    complain(prompt)
    return readLine()
  }

  private static let barLength = 40
  /// Returns to the start of the line and erases it (ECMA-48, EL).
  private static let startOfLine = "\r\u{1b}[K"

  private static func complain(_ text: String) {
    let bytes = Array(text.utf8)
    // If standard error can't be written to, nobody looks.
    _ = unsafe bytes.withUnsafeBytes { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }
}
