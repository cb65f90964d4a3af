internal import CSodium

/// Starts libsodium, once.
enum Sodium {
  /// Whether it works; before it is started its generator is not safe to share between threads.
  static let isStarted: Bool = sodium_init() >= 0
}
