internal import Storage

/// All that the service keeps: users and forums, queues of messages, vouchers, files, and the
/// ephemeral keys that were used.
///
/// What a write returns is on the disk. Accounts are known by their encryption key outside, and by
/// a number inside: numbers ascend with the accounts' age, and none is ever given twice.
struct ApptimistStore: Sendable {
  /// What holds for what is stored.
  struct Limits: Sendable {
    /// How many entries a queue holds: messages, places of truncated ones, and truncations.
    var queueEntries = 10_000
    /// How many bytes the messages and truncations of a queue have.
    var queueBytes = 256 << 20
    /// How many messages may have arrived, and be in no queue yet.
    var arrivals = 8_192
    /// How many of these each queue gets at once, on the average.
    var arrivalsEach = 128
    /// How many bytes the copies of arrivals may have: what is to be hashed after a restart, or when
    /// a transaction was undone, to know them again.
    var arrivalBytes = 16 << 20
    /// Of how many messages that a queue has dropped the identifiers are still known.
    var rememberedMessages = 100_000
    /// How many forums a user has.
    var forums = 1_000
    /// How many files a directory has.
    var files = 1_024
    /// How many bytes the files of a directory have.
    var directoryBytes = 64 << 20
    /// How many keys a reserved file has.
    var reservedKeys = 4_096
    /// How many keys are listed as vouching.
    var vouchers = 32_000
    /// How many accounts a search finds.
    var found = 1_000
  }

  let store: Store
  let limits: Limits
  let arrivalMemory = ArrivalMemory()

  init(store: Store, limits: Limits) {
    self.store = store
    self.limits = limits
  }
}

/// What a row of `apptimist_users` stands for.
enum StoredKind: Int, DatabaseValueConvertible {
  case user = 0
  case forum = 1
  /// Nothing is left but the key, which stays taken.
  case deletedForum = 2
}
