internal import Configuration

/// The limits of what one client's network or account may have, beside what all may have together.
struct ClientLimits: Sendable {
  /// The most sessions that are not logged in.
  var joining = 2_048
  /// The most of them of one network.
  var joiningPerAddress = 512
  /// The most sessions that are logged in.
  var sessions = 16_000
  /// The most of them of one network.
  var sessionsPerAddress = 4_000
  /// The most handshakes of one network in an hour.
  var handshakesPerAddress = 36_000
  /// The most accounts that one network makes in an hour.
  var accountsPerAddress = 20_000
  /// The most times in an hour that the identity provider is asked for one network.
  var identityChecksPerAddress = 600
  /// The most times in an hour that an issuer's keys are fetched because a token of one network names an unknown one.
  var keyFetchesPerAddress = 30
  /// The most times in an hour that the endpoints of chains are asked for one network.
  var chainCallsPerAddress = 60
  /// The most bytes in an hour of all copies of a user's posts to forums.
  var forumBytes = 256 << 20
  /// The most bytes in an hour of all copies of the messages, and of the files, that come from one network.
  var bytesPerAddress = 4 << 30

  /// The most changes of a user's push addresses in an hour.
  var pushChanges = 30

  /// Reads the keys of `[apptimist]`.
  mutating func read(_ section: ConfigurationSection) {
    let million = 1...1_000_000
    section.integer("unauthenticated_sessions", &joining, in: million)
    section.integer("unauthenticated_sessions_per_address", &joiningPerAddress, in: million)
    section.integer("all_sessions", &sessions, in: million)
    section.integer("sessions_per_address", &sessionsPerAddress, in: million)
    section.integer("handshakes_per_address", &handshakesPerAddress, in: 1...1_000_000_000)
    section.integer("accounts_per_address", &accountsPerAddress, in: 0...1_000_000_000)
    section.integer("identity_checks_per_address", &identityChecksPerAddress, in: 0...1_000_000_000)
    section.integer("key_fetches_per_address", &keyFetchesPerAddress, in: 0...1_000_000_000)
    section.integer("chain_calls_per_address", &chainCallsPerAddress, in: 0...1_000_000_000)
    section.size("forum_posts_size", &forumBytes, in: 0...(1 << 50))
    section.integer("push_changes_per_hour", &pushChanges, in: million)
    section.size("messages_size_per_address", &bytesPerAddress, in: 0...(1 << 50))
  }
}
