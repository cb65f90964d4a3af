internal import Glibc

/// Writes bytes to an open file, all of them, however many calls that takes.
///
/// - Parameters:
///   - bytes: the bytes.
///   - descriptor: the file, which isn't closed.
/// - Throws: ``SystemError``; some of the bytes may be written then.
package func writeAll(_ bytes: [UInt8], to descriptor: CInt) throws(SystemError) {
  var rest = bytes[...]
  while !rest.isEmpty {
    let count = unsafe rest.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
    if count < 0 && errno == EINTR { continue }
    guard count > 0 else { throw SystemError(errno) }
    rest = rest.dropFirst(count)
  }
}
