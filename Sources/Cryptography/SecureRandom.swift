internal import CSodium

/// Random bytes from the system's generator, fit for keys.
public enum SecureRandom {
  /// Makes random bytes.
  ///
  /// - Parameter count: the number of bytes.
  /// - Returns: uniform and independent bytes.
  public static func bytes(_ count: Int) -> [UInt8] {
    precondition(Sodium.isStarted, "the system has no source of randomness")
    var bytes = [UInt8](repeating: 0, count: count)
    unsafe randombytes_buf(&bytes, count)
    return bytes
  }
}
