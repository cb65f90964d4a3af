internal import Formats

/// The media type of a file: by its first bytes, then its name. Whatever a browser might run is a stream of bytes.
enum TopicFileTypes {
  static let unknown = "application/octet-stream"

  private static let signatures: [(offset: Int, bytes: [UInt8], type: String)] = [
    (0, [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a], "image/png"),
    (0, [0xff, 0xd8, 0xff], "image/jpeg"),
    (0, Array("GIF87a".utf8), "image/gif"),
    (0, Array("GIF89a".utf8), "image/gif"),
    (8, Array("WEBP".utf8), "image/webp"),
    (8, Array("WAVE".utf8), "audio/wav"),
    (8, Array("AVI ".utf8), "video/x-msvideo"),
    (4, Array("ftypavif".utf8), "image/avif"),
    (4, Array("ftypheic".utf8), "image/heic"),
    (4, Array("ftypM4A".utf8), "audio/mp4"),
    (4, Array("ftyp".utf8), "video/mp4"),
    (0, Array("%PDF-".utf8), "application/pdf"),
    (0, Array("OggS".utf8), "audio/ogg"),
    (0, Array("fLaC".utf8), "audio/flac"),
    (0, Array("ID3".utf8), "audio/mpeg"),
    (0, [0xff, 0xfb], "audio/mpeg"),
    (0, [0x1a, 0x45, 0xdf, 0xa3], "video/webm"),
    (0, [0x50, 0x4b, 0x03, 0x04], "application/zip"),
    (0, [0x1f, 0x8b], "application/gzip"),
    (0, [0x28, 0xb5, 0x2f, 0xfd], "application/zstd"),
    (0, [0xfd, 0x37, 0x7a, 0x58, 0x5a], "application/x-xz"),
    (0, Array("BZh".utf8), "application/x-bzip2"),
    (0, [0x37, 0x7a, 0xbc, 0xaf, 0x27, 0x1c], "application/x-7z-compressed"),
    (0, Array("BM".utf8), "image/bmp"),
  ]

  /// The types of names that have no signature.
  private static let extensions = [
    "txt": "text/plain", "log": "text/plain", "md": "text/plain", "csv": "text/plain",
    "json": "text/plain", "yaml": "text/plain", "yml": "text/plain", "conf": "text/plain",
    "ini": "text/plain", "diff": "text/plain", "patch": "text/plain", "mp3": "audio/mpeg",
    "tar": "application/x-tar", "apk": "application/vnd.android.package-archive",
  ]

  /// Returns the type of a file.
  ///
  /// - Parameters:
  ///   - head: its first bytes.
  ///   - name: its name.
  static func type(of head: some Collection<UInt8>, named name: String) -> String {
    let head = Array(head.prefix(512))
    for signature in signatures
    where head.dropFirst(signature.offset).starts(with: signature.bytes) {
      return signature.type
    }
    let isText = !head.contains(0) && isUTF8Start(head)
    guard let dot = name.lastIndex(of: ".") else { return isText ? "text/plain" : unknown }
    let type = extensions[name[name.index(after: dot)...].lowercased()] ?? unknown
    return type == "text/plain" && !isText ? unknown : type
  }

  /// Returns whether bytes are the start of a text, whose last character may be cut.
  private static func isUTF8Start(_ bytes: [UInt8]) -> Bool {
    (0..<4).contains { cut in String(validating: bytes.dropLast(cut), as: UTF8.self) != nil }
  }

  /// Returns the extension that a file's address has: letters and digits of the name's, else one of the type's.
  static func pathExtension(of name: String, type: String) -> String {
    if let dot = name.lastIndex(of: ".") {
      let ending = name[name.index(after: dot)...].lowercased()
      if (1...10).contains(ending.utf8.count), ending.utf8.allSatisfy(\.isLetterOrDigit) {
        return ending
      }
    }
    return type.hasPrefix("text/") ? "txt" : "bin"
  }
}
