internal import Glibc
internal import Platform
internal import Formats

/// The conversation with a process that validates documents, over a socket: frames of a length and that many bytes.
struct SchemaChannel: Sendable {
  /// The largest frame: a document of the largest size with its version.
  static let limit = (8 << 20) + 64

  /// The socket, which the channel doesn't own.
  let descriptor: CInt

  /// Sends a frame.
  ///
  /// - Throws: ``SystemError``.
  func send(_ frame: [UInt8]) throws(SystemError) {
    var writer = ByteWriter(capacity: frame.count + 4)
    writer.write(UInt32(frame.count))
    writer.write(frame)
    var rest = writer.bytes[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes { bytes in
        unsafe Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
      }
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { throw SystemError(errno) }
      rest = rest.dropFirst(count)
    }
  }

  /// Waits for a frame.
  ///
  /// - Parameter limit: the largest frame that is taken.
  /// - Returns: the frame, or nil if the other side has ended, or sent too much.
  /// - Throws: ``SystemError``; `EAGAIN` if the socket's timeout is over.
  func receive(limit: Int = SchemaChannel.limit) throws(SystemError) -> [UInt8]? {
    guard let head = try bytes(4) else { return nil }
    let length = head.reduce(0) { $0 << 8 | Int($1) }
    return length <= limit ? try bytes(length) : nil
  }

  private func bytes(_ count: Int) throws(SystemError) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    var filled = 0
    while filled < count {
      let got = unsafe bytes.withUnsafeMutableBytes { buffer in
        let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
        return unsafe recv(descriptor, rest.baseAddress, rest.count, 0)
      }
      if got < 0 && errno == EINTR { continue }
      guard got >= 0 else { throw SystemError(errno) }
      if got == 0 { return nil }
      filled += got
    }
    return bytes
  }
}

/// A document to validate, as a frame: the version, seven bytes such as `2020/03`, and the bytes.
struct SchemaJob {
  let version: SchemaVersion
  let document: [UInt8]

  /// The frame.
  var frame: [UInt8] { Array(version.path.utf8) + document }
}

extension SchemaJob {
  /// Reads a frame, or returns nil if it is none.
  init?(frame: [UInt8]) {
    guard let version = SchemaVersion(String(decoding: frame.prefix(7), as: UTF8.self)) else {
      return nil
    }
    self.init(version: version, document: Array(frame.dropFirst(7)))
  }
}

extension TokenScriptFile.Finding {
  /// The finding of a check that was made, as a frame: one byte, and the problems as text.
  func frame(_ version: SchemaVersion) -> [UInt8] {
    switch self {
    case .passed, .unchecked: [0]
    case .failed where self == .missingSchema(version): [1]
    case .failed(let refusal): [2] + Array(refusal.detail.utf8)
    }
  }

  /// Reads a frame, or returns nil if it is none.
  init?(frame: [UInt8], _ version: SchemaVersion) {
    switch frame.first {
    case 0: self = .passed
    case 1: self = .missingSchema(version)
    case 2: self = .invalid(String(decoding: frame.dropFirst(), as: UTF8.self))
    default: return nil
    }
  }
}
