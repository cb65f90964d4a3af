internal import Glibc

/// The failure of a system call.
package struct SystemError: Error, Equatable, CustomStringConvertible {
  /// The value of `errno`.
  package let code: CInt

  /// An error for a value of `errno`.
  ///
  /// - Parameter code: the value.
  package init(_ code: CInt) { self.code = code }

  /// The system's words for the error.
  package var description: String {
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
      guard let text = buffer.baseAddress,
        unsafe strerror_r(code, text, buffer.count) == 0
      else { return "error \(code)" }
      return unsafe String(cString: text)
    }
  }
}
