internal import Glibc

/// Standard input for secrets.
enum HiddenInput {
  /// Reads a line, which a terminal doesn't show.
  ///
  /// - Parameter prompt: a prompt that is written to standard error if standard input is a terminal.
  /// - Returns: the line without its end, or nil if there is none.
  static func line(prompt: String) -> String? {
    guard isatty(STDIN_FILENO) == 1 else { return readLine() }
    var settings = termios()
    guard unsafe tcgetattr(STDIN_FILENO, &settings) == 0 else { return readLine() }
    var hidden = settings
    hidden.c_lflag &= ~tcflag_t(ECHO)
    unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden)
    defer {
      unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings)
      write("\n")
    }
    write(prompt)
    return readLine()
  }

  private static func write(_ text: String) {
    let bytes = Array(text.utf8)
    // Without a prompt the line can be read all the same.
    _ = unsafe Glibc.write(STDERR_FILENO, bytes, bytes.count)
  }
}
