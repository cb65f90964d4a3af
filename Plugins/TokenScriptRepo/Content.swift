internal import Compression
internal import HTTPProtocol
internal import Synchronization

/// The bytes of a file, shared by all answers that are made of them, with their compressed forms as
/// soon as there are any.
final class Content: Sendable {
  /// The compressed forms; each nil where it would not be smaller.
  final class Variants: Sendable {
    /// As `gzip` (RFC 1952).
    let gzip: Bytes?
    /// As `br` (RFC 7932).
    let brotli: Bytes?

    fileprivate init(_ bytes: Bytes) {
      gzip = unsafe Compression.gzip(bytes.buffer.bytes).map { Bytes($0) }
      brotli = unsafe Compression.brotli(bytes.buffer.bytes).map { Bytes($0) }
    }
  }

  /// The bytes as they lie on the disk.
  let bytes: Bytes
  /// Their SHA-256.
  let digest: [UInt8]
  private let compressed = AtomicLazyReference<Variants>()

  /// A content without compressed forms.
  ///
  /// - Parameters:
  ///   - bytes: the bytes.
  ///   - digest: their SHA-256.
  init(_ bytes: Bytes, digest: [UInt8]) {
    self.bytes = bytes
    self.digest = digest
  }

  /// The compressed forms; nil until they are made.
  var variants: Variants? { compressed.load() }

  /// Makes the compressed forms, which takes a while: some milliseconds for 30 KB.
  func compress() {
    if variants == nil { _ = compressed.storeIfNil(Variants(bytes)) }
  }
}

extension [Content] {
  /// The contents by the SHA-256 of their bytes.
  var byDigest: [[UInt8]: Content] {
    Dictionary(map { ($0.digest, $0) }, uniquingKeysWith: { first, _ in first })
  }
}
