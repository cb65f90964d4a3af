internal import Compression
internal import Cryptography
internal import HTTPProtocol
internal import Synchronization
internal import Wire

/// The bytes of a file, shared by all responses with them, and their compressed forms once they are made.
final class Content: Sendable {
  /// The compressed forms; each is nil if it would not be smaller.
  final class Variants: Sendable {
    /// The bytes in the coding `gzip` (RFC 1952).
    let gzip: Bytes?
    /// The bytes in the coding `br` (RFC 7932).
    let brotli: Bytes?

    fileprivate init(_ bytes: Bytes) {
      gzip = unsafe Compression.gzip(bytes.buffer.bytes).map { Bytes($0) }
      brotli = unsafe Compression.brotli(bytes.buffer.bytes).map { Bytes($0) }
    }
  }

  /// The bytes on the disk.
  let bytes: Bytes
  /// The SHA-256 of the bytes.
  let digest: SHA256.Digest
  private let compressed = AtomicLazyReference<Variants>()

  /// Makes a content without compressed forms.
  init(_ bytes: Bytes, digest: SHA256.Digest) {
    self.bytes = bytes
    self.digest = digest
  }

  /// The compressed forms, or nil until they are made.
  var variants: Variants? { compressed.load() }

  /// Makes the compressed forms, which takes some milliseconds for 30 KB.
  func compress() {
    if variants == nil { _ = compressed.storeIfNil(Variants(bytes)) }
  }
}

extension [Content] {
  /// The contents by their digests.
  var byDigest: [SHA256.Digest: Content] {
    Dictionary(map { ($0.digest, $0) }, uniquingKeysWith: { first, _ in first })
  }
}
