/// How long a secret is kept, which decides in what memory.
public enum KeyLifetime: Sendable, Hashable {
  /// For years: locked in memory between guard pages, read-only, wiped on release.
  ///
  /// libsodium takes four pages (16 KiB) for each, so this is for the few keys of a service or a
  /// user, not for what each of ten thousand sessions has.
  case longTerm
  /// For one connection: ordinary memory, wiped on release.
  case session
}
