internal import Glibc
internal import Platform

/// The reason why a file couldn't be read, in the system's words.
package struct FileError: Error {
  /// The reason.
  package let message: String
}

/// Reads a file.
///
/// - Parameters:
///   - path: the path of the file.
///   - limit: the largest allowed size in bytes.
/// - Returns: the content.
/// - Throws: ``FileError``.
package func contents(ofFile path: String, limit: Int) throws(FileError) -> [UInt8] {
  let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0 else { throw FileError(message: "\(SystemError(errno))") }
  defer { close(descriptor) }
  // Not copied while it grows, as it may be a secret.
  var bytes = [UInt8](repeating: 0, count: limit + 1)
  var count = 0
  while count < bytes.count {
    let taken = unsafe bytes[count...].withUnsafeMutableBytes { buffer in
      unsafe read(descriptor, buffer.baseAddress, buffer.count)
    }
    if taken < 0 && errno == EINTR { continue }
    guard taken >= 0 else { throw FileError(message: "\(SystemError(errno))") }
    if taken == 0 { break }
    count += taken
  }
  guard count <= limit else { throw FileError(message: "larger than \(ByteSize.text(limit))") }
  bytes.removeSubrange(count...)
  return bytes
}
