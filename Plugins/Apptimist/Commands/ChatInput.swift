internal import Glibc
internal import Platform
internal import ServiceKit

/// The lines of a chat's standard input, which a thread of its own reads, and the terminal at which they are typed.
///
/// Lines from a pipe are read no faster than they are carried out.
final class ChatInput: Sendable {
  /// The most lines that were read and not carried out yet.
  private static let mostWaiting = 16

  /// The lines; the stream ends with the input.
  let lines: AsyncStream<String>
  private let continuation: AsyncStream<String>.Continuation
  private let print: @Sendable (String) -> Void
  private let waiting = Monitor(0)
  /// The line that is being typed, if the input is a terminal.
  ///
  /// The terminal is written to under the lock, so that what is typed and what is shown don't mix. A program for one person
  /// may wait for the person's terminal.
  private let editor = Lock(LineEditor())
  private let isTerminal: Bool
  /// True if what is typed and what is shown are on the same screen.
  private let isOnScreen: Bool

  /// Begins to read.
  ///
  /// - Parameter print: writes a line to standard output.
  init(_ print: @escaping @Sendable (String) -> Void) {
    self.print = print
    isTerminal = TerminalSettings.change(to: .bytes)
    isOnScreen = isTerminal && isatty(STDOUT_FILENO) == 1
    (lines, continuation) = AsyncStream.makeStream(of: String.self)
    let thread = try? WorkerThread(named: "awd-keyboard") { [self] in
      if isTerminal { readTerminal() } else { readPipe() }
      continuation.finish()
    }
    if thread == nil { continuation.finish() }
  }

  /// Records that a line was carried out.
  func performed() {
    waiting.withLock { $0 -= 1 }
    waiting.wakeOne()
  }

  /// Shows a line, above the one that is being typed.
  func show(_ line: String) {
    guard isOnScreen else { return print(line) }
    editor.withLock { editor in
      if !editor.typed.isEmpty { Self.write(Self.eraseLine) }
      print(line)
      if !editor.typed.isEmpty { Self.write(editor.typed) }
    }
  }

  /// Gives the terminal back as it was.
  func close() { if isTerminal { TerminalSettings.restore() } }

  // MARK: - On the thread

  private func readPipe() { while let line = readLine() { hand(line) } }

  private func readTerminal() {
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while true {
      let count = unsafe read(STDIN_FILENO, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0, type(buffer.prefix(count)) else { return }
    }
  }

  /// Processes typed bytes.
  ///
  /// - Returns: false if there will be no further line.
  private func type(_ bytes: ArraySlice<UInt8>) -> Bool {
    for byte in bytes {
      let outcome = editor.withLock { editor in
        let outcome = editor.receive(byte)
        switch outcome {
        case .typing(let echo): Self.write(echo)
        case .line, .end: Self.write([UInt8(ascii: "\n")])
        }
        return outcome
      }
      switch outcome {
      case .typing: break
      case .line(let line): hand(line)
      case .end: return false
      }
    }
    return true
  }

  private func hand(_ line: String) {
    waiting.withLock(when: { $0 < Self.mostWaiting }) { $0 += 1 }
    continuation.yield(line)
  }

  private static let eraseLine: [UInt8] = Array("\r\u{1b}[K".utf8)

  private static func write(_ bytes: [UInt8]) {
    // If the terminal is gone, nobody looks.
    if !bytes.isEmpty { _ = unsafe Glibc.write(STDIN_FILENO, bytes, bytes.count) }
  }
}
