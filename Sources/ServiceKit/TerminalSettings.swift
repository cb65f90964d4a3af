internal import Glibc

/// The settings of the terminal of standard input, which a command changes for a while.
///
/// A command that ends by a signal, or is suspended, gives the terminal back as it was.
package enum TerminalSettings {
  /// How a command reads what is typed, of which the terminal shows nothing.
  package enum Mode {
    /// By lines; what was typed before is thrown away.
    case hiddenLines
    /// Byte by byte.
    case bytes
  }

  // Only the command's own task changes settings, one after the other.
  nonisolated(unsafe) private static var handlersBefore: [(CInt, __sighandler_t?)] = []

  /// Changes the settings.
  ///
  /// - Returns: whether standard input is a terminal, so that they are changed until ``restore()``.
  package static func change(to mode: Mode) -> Bool {
    guard unsafe tcgetattr(STDIN_FILENO, settingsBefore) == 0 else { return false }
    unsafe settingsMeanwhile.initialize(to: settingsBefore.pointee)
    unsafe settingsMeanwhile.pointee.c_lflag &= ~tcflag_t(ECHO)
    if mode == .bytes {
      unsafe settingsMeanwhile.pointee.c_lflag &= ~tcflag_t(ICANON)
      // VMIN and VTIME: a byte is handed on at once.
      unsafe settingsMeanwhile.pointee.c_cc.6 = 1
      unsafe settingsMeanwhile.pointee.c_cc.5 = 0
    }
    for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP] {
      unsafe handlersBefore.append((number, signal(number, restoreAndRaise)))
    }
    unsafe handlersBefore.append((SIGCONT, signal(SIGCONT, changeAgain)))
    let moment = mode == .hiddenLines ? TCSAFLUSH : TCSANOW
    guard unsafe tcsetattr(STDIN_FILENO, moment, settingsMeanwhile) == 0 else {
      restore()
      return false
    }
    return true
  }

  /// Gives the terminal back as it was, without what was typed and not read, and the signals to whoever had them.
  package static func restore() {
    unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, settingsBefore)
    for (number, handler) in unsafe handlersBefore { signal(number, handler) }
    unsafe handlersBefore = []
  }
}

// Signal handlers have no other way to them. They are written before the handlers are installed, and only read afterwards. They
// are allocated: a global variable that begins as a structure of C has too few bytes, as the compiler leaves out its padding.
nonisolated(unsafe) private let settingsBefore = UnsafeMutablePointer<termios>.allocate(capacity: 1)
nonisolated(unsafe) private let settingsMeanwhile = UnsafeMutablePointer<termios>.allocate(
  capacity: 1)

/// Gives the terminal back, and lets the signal do what it does otherwise.
private func restoreAndRaise(_ number: CInt) {
  unsafe tcsetattr(STDIN_FILENO, TCSANOW, settingsBefore)
  signal(number, SIG_DFL)
  raise(number)
}

/// Changes the settings again, after the program was suspended.
private func changeAgain(_ number: CInt) {
  unsafe tcsetattr(STDIN_FILENO, TCSANOW, settingsMeanwhile)
  signal(SIGTSTP, restoreAndRaise)
}
