internal import Glibc

/// The failure of a system call.
public struct SystemError: Error, Equatable, CustomStringConvertible {
  /// The value of `errno`.
  public let code: CInt

  /// An error for a value of `errno`.
  ///
  /// - Parameter code: the value.
  public init(_ code: CInt) { self.code = code }

  /// The system's words for the error.
  public var description: String {
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
      guard let text = buffer.baseAddress,
        unsafe strerror_r(code, text, buffer.count) == 0
      else { return "error \(code)" }
      return unsafe String(cString: text)
    }
  }
}
