internal import COpenSSL

/// SHA-256 of a message that comes in parts.
@safe public struct SHA256Stream: ~Copyable {
  private let context: OpaquePointer?

  /// Makes the hash of nothing.
  public init() {
    unsafe context = EVP_MD_CTX_new()
    unsafe EVP_DigestInit_ex(context, EVP_sha256(), nil)
  }

  deinit { unsafe EVP_MD_CTX_free(context) }

  /// Adds a part of the message.
  ///
  /// - Parameter part: any number of bytes.
  public func update(_ part: ArraySlice<UInt8>) {
    _ = unsafe part.withUnsafeBytes { unsafe EVP_DigestUpdate(context, $0.baseAddress, $0.count) }
  }

  /// Ends the message.
  ///
  /// - Returns: the digest, or nil if the system had no memory for the work.
  public consuming func finish() -> SHA256.Digest? {
    guard let context = unsafe context else { return nil }
    var digest = SHA256.Digest()
    let isDone = unsafe digest.withMutablePointer { unsafe EVP_DigestFinal_ex(context, $0, nil) }
    return isDone == 1 ? digest : nil
  }
}
