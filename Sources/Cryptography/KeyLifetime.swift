/// The time for which a secret is kept, which decides in what memory it lies.
public enum KeyLifetime: Sendable, Hashable {
  /// The secret is kept for years, in locked memory between guard pages, read-only, wiped on release.
  ///
  /// libsodium takes four pages (16 KiB) for each, so this is for the few keys of a service or a user, not for those of
  /// each of ten thousand sessions.
  case longTerm
  /// The secret is kept for one connection, in ordinary memory, wiped on release.
  case session
}
