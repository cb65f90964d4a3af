internal import Glibc
internal import SystemCalls

/// The reason why a file couldn't be read, in the system's words.
public struct FileError: Error {
  /// The reason.
  public let message: String
}

/// Reads a file.
///
/// - Parameters:
///   - path: the path of the file.
///   - limit: the largest allowed size in bytes.
/// - Returns: the content.
/// - Throws: ``FileError``.
public func contents(ofFile path: String, limit: Int) throws(FileError) -> [UInt8] {
  let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0 else { throw FileError(message: "\(SystemError(errno))") }
  defer { close(descriptor) }
  var bytes: [UInt8] = []
  var chunk = [UInt8](repeating: 0, count: 16384)
  while true {
    let count = unsafe chunk.withUnsafeMutableBytes { buffer in
      unsafe read(descriptor, buffer.baseAddress, buffer.count)
    }
    if count < 0 && errno == EINTR { continue }
    guard count >= 0 else { throw FileError(message: "\(SystemError(errno))") }
    guard count > 0 else { return bytes }
    bytes += chunk.prefix(count)
    guard bytes.count <= limit else {
      throw FileError(message: "larger than \(ByteSize.text(limit))")
    }
  }
}
