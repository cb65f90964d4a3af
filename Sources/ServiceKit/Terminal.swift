internal import Glibc

/// What standard output and standard error are written to.
public enum Terminal {
  /// How many characters a line has room for; nil where that does not matter.
  ///
  /// - Parameter environment: `COLUMNS` counts before what the terminal says.
  public static func width(_ environment: [String: String]) -> Int? {
    if let columns = environment["COLUMNS"].flatMap({ Int($0) }), columns > 0 { return columns }
    var size = winsize()
    guard isatty(STDOUT_FILENO) == 1,
      unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0
    else { return nil }
    return Int(size.ws_col)
  }

  /// Shows on standard error how far a long work has come: as a bar on a terminal, else as a line.
  ///
  /// - Parameters:
  ///   - done: how many are done.
  ///   - total: how many there are.
  ///   - things: what they are, such as `files`.
  public static func showProgress(_ done: Int, of total: Int, _ things: String) {
    let words = "\(done) of \(total) \(things)"
    guard isatty(STDERR_FILENO) == 1 else { return complain("\(words)\n") }
    let full = total > 0 ? barLength * done / total : 0
    let bar = String(repeating: "#", count: full) + String(repeating: ".", count: barLength - full)
    complain("\(startOfLine)[\(bar)] \(words)")
  }

  /// Takes the bar away.
  public static func clearProgress() {
    if isatty(STDERR_FILENO) == 1 { complain(startOfLine) }
  }

  private static let barLength = 40
  /// Back to its start, with all that stands there erased (ECMA-48, EL).
  private static let startOfLine = "\r\u{1b}[K"

  private static func complain(_ text: String) {
    let bytes = Array(text.utf8)
    // Where it can't be written, nobody looks.
    _ = unsafe bytes.withUnsafeBytes { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }
}
