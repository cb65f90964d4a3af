internal import ApptimistResources
internal import Cryptography
internal import Platform
internal import Push
internal import Storage

/// The store of users and forums, mailboxes, vouchers, files, and the ephemeral keys that were used.
///
/// A write that has returned is on the disk. Accounts are known by their encryption key outside, and by
/// an ``AccountNumber`` inside.
struct ApptimistStore: Sendable {
  /// The limits of the store.
  struct Limits: Sendable {
    /// The most entries of a mailbox: messages, places of truncated ones, and truncations.
    var mailboxEntries = 10_000
    /// The most bytes of the messages and truncations in a mailbox.
    var mailboxBytes = 256 << 20
    /// The most deliveries that are pending.
    var pendingDeliveries = 16_384
    /// The number of deliveries that are flushed to each mailbox at once, on the average.
    var pendingPerMailbox = 128
    /// The most bytes of the copies whose delivery is pending: after a restart, or when a transaction
    /// was undone, they are hashed to know them again.
    var pendingBytes = 32 << 20
    /// The number of messages that a mailbox has dropped and whose identifiers are still known.
    var rememberedMessages = 100_000
    /// The most ephemeral keys of a user that are remembered.
    var rememberedConnections = 4_096
    /// The most forums of a user, deleted ones included.
    var forums = 1_000
    /// The most files of a directory.
    var files = 1_024
    /// The most bytes of the files of a directory.
    var directoryBytes = 64 << 20
    /// The most bytes of the files in all directories of a user: the own one and those of the forums.
    var accountBytes = 256 << 20
    /// The most keys of a reserved file.
    var reservedKeys = 4_096
    /// The time after which the mailbox of an account is emptied that wasn't used after its first day.
    var unusedAge = Duration.seconds(30 * 86_400)
    /// The slots by which devices are linked that one network may have at once.
    var linksPerAddress = 20
    /// The most forums of a user that ask for a token.
    var gates = 32
    /// The most accounts for which a user vouches.
    var vouchesGiven = 1_000
    /// The most users of one site who vouch for an account.
    var vouchersOfSite = 1_000
    /// The most keys that are listed as vouching.
    var vouchers = 32_000
    /// The most accounts that a search finds.
    var found = 1_000
    /// The most contacts of a user that are remembered: those to whom the user wrote, or for whom the user vouches.
    var contacts = 4_096
    /// The most devices of a user whose acknowledged positions are kept.
    var devices = 64
    /// The bytes of a stream that are read at once; one longer entry is read nevertheless.
    var pageBytes = 256 << 10
    /// The entries of a stream that are read at once.
    var pageEntries = 256
  }

  let store: Store
  let limits: Limits
  let mailboxes: Mailboxes
  /// The part that depends on whether other nodes share the store.
  let deliveries: any DeliveryStrategy

  /// Makes a store over a database.
  ///
  /// - Parameter wakes: the wakes of devices, or nil if the service pushes nothing.
  init(store: Store, limits: Limits, wakes: Wakes? = nil) {
    self.store = store
    self.limits = limits
    mailboxes = Mailboxes(limits: limits, wakes: wakes)
    deliveries =
      store.isShared
      ? SharedDelivery(store: store, mailboxes: mailboxes) : LoggedDelivery(store, mailboxes)
  }
}

/// The kinds of rows of `apptimist_users`.
enum StoredKind: Int, DatabaseValueConvertible {
  case user = 0
  case forum = 1
  /// Nothing is left but the key, which stays taken, and a forum's author, among whose forums it counts.
  case deleted = 2
  /// A user whom the operator has disabled: the account can be enabled again.
  case disabled = 3
}

extension ApptimistStore {
  /// The tables of the service and of the outbox that its wakes use.
  static let migrations: [Migration] =
    Pushes.migrations + [
      Migration(
        owner: "apptimist", number: 1, sqlite: Resource(apptimist_schema_sqlite_sql()).bytes,
        postgreSQL: Resource(apptimist_schema_postgresql_sql()).bytes)
    ]
}
