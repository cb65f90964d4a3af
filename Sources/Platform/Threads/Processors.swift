internal import Glibc

/// The processors that threads run on.
package enum Processors {
  /// The number of processors that this process may use: an operator may leave it fewer than the machine has.
  package static let count = max(1, min(online, allowed ?? online))

  private static var online: Int { sysconf(Int32(_SC_NPROCESSORS_ONLN)) }

  /// The number of bits in the mask that Linux shows for the process, as the C function that asks for it is hidden from
  /// Swift. The mask may name processors that the machine doesn't have.
  private static var allowed: Int? {
    guard let file = unsafe fopen("/proc/self/status", "re") else { return nil }
    defer { unsafe fclose(file) }
    var line: UnsafeMutablePointer<CChar>?
    var room = 0
    defer { unsafe free(line) }
    let name = "Cpus_allowed:"
    while unsafe getline(&line, &room, file) > 0, let line = unsafe line {
      let text = unsafe String(cString: line)
      guard text.hasPrefix(name) else { continue }
      return text.dropFirst(name.count).compactMap(\.hexDigitValue).reduce(0) {
        $0 + $1.nonzeroBitCount
      }
    }
    return nil
  }
}
