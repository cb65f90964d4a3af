internal import CSodium

/// The start of libsodium, once in a process.
enum Sodium {
  /// True if libsodium works. Before it is started its generator is not safe to share between threads.
  static let isStarted: Bool = sodium_init() >= 0
}
