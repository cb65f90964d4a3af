import CSodium

/// Random bytes from the system's generator, fit for keys.
public enum SecureRandom {
  /// libsodium is started once; before that its generator is not safe to share between threads.
  private static let isStarted: Bool = sodium_init() >= 0

  /// Makes random bytes.
  ///
  /// - Parameter count: how many bytes.
  /// - Returns: `count` bytes, each uniform and independent.
  public static func bytes(_ count: Int) -> [UInt8] {
    precondition(isStarted, "the system has no source of randomness")
    var bytes = [UInt8](repeating: 0, count: count)
    unsafe randombytes_buf(&bytes, count)
    return bytes
  }
}
