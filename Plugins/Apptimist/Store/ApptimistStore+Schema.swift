internal import Storage

extension ApptimistStore {
  /// The history of the service's tables. Times are milliseconds since 1970.
  static let migrations = [
    Migration(
      owner: "apptimist", number: 1,
      sqlite: """
        -- Users and forums. No row is ever deleted, so that numbers ascend with age.
        CREATE TABLE apptimist_users (
          id INTEGER PRIMARY KEY,
          key BLOB NOT NULL UNIQUE,
          -- 0: user, 1: forum, 2: deleted forum, whose key stays taken.
          kind INTEGER NOT NULL,
          -- The user who has made a forum.
          author INTEGER REFERENCES apptimist_users,
          authentication_key BLOB NOT NULL,
          -- The name in NFC with its case folded, in UTF-8.
          search_name BLOB,
          uid TEXT,
          name TEXT NOT NULL
        ) STRICT;
        CREATE INDEX apptimist_users_by_name ON apptimist_users (search_name)
          WHERE search_name IS NOT NULL;
        CREATE INDEX apptimist_users_by_uid ON apptimist_users (uid) WHERE uid IS NOT NULL;
        CREATE INDEX apptimist_users_by_author ON apptimist_users (author)
          WHERE author IS NOT NULL;

        -- One for each user: what its queue holds, and the last position that was given away.
        CREATE TABLE apptimist_queues (
          user INTEGER PRIMARY KEY REFERENCES apptimist_users,
          last_position INTEGER NOT NULL DEFAULT 0,
          entries INTEGER NOT NULL DEFAULT 0,
          bytes INTEGER NOT NULL DEFAULT 0,
          -- How many rows apptimist_dropped has for it.
          dropped INTEGER NOT NULL DEFAULT 0
        ) STRICT;

        -- The queues: small rows in the order of the stream, apart from what may be large. Without an
        -- index by sender, which would cost every message a page; a full queue looks for a sender's
        -- next entry behind the one that it drops.
        CREATE TABLE apptimist_entries (
          user INTEGER NOT NULL,
          position INTEGER NOT NULL,
          -- 0: message, 1: place of a truncated message, 2: truncation.
          kind INTEGER NOT NULL,
          sender INTEGER NOT NULL,
          size INTEGER NOT NULL,
          message INTEGER NOT NULL,
          PRIMARY KEY (user, position)
        ) STRICT, WITHOUT ROWID;

        -- What entries have beside their place: of a message all; of a place and of a truncation
        -- the identifier only.
        CREATE TABLE apptimist_messages (
          id INTEGER PRIMARY KEY,
          message_id BLOB NOT NULL,
          header BLOB,
          -- One of the two: the data, or where data lies that several messages share.
          body INTEGER,
          data BLOB
        ) STRICT;
        CREATE INDEX apptimist_messages_by_body ON apptimist_messages (body)
          WHERE body IS NOT NULL;
        CREATE TABLE apptimist_bodies (id INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT;

        -- The messages that are or were in a queue.
        CREATE TABLE apptimist_message_ids (
          user INTEGER NOT NULL,
          message_id BLOB NOT NULL,
          position INTEGER NOT NULL,
          is_truncated INTEGER NOT NULL DEFAULT 0,
          PRIMARY KEY (user, message_id)
        ) STRICT, WITHOUT ROWID;

        -- Those of them whose entry is gone, so that the oldest can be forgotten.
        CREATE TABLE apptimist_dropped (
          user INTEGER NOT NULL,
          position INTEGER NOT NULL,
          message_id BLOB NOT NULL,
          PRIMARY KEY (user, position)
        ) STRICT, WITHOUT ROWID;

        -- What each sender holds of a queue. Only a full queue looks for the one that holds most, among
        -- few: an index would cost every message.
        CREATE TABLE apptimist_shares (
          user INTEGER NOT NULL,
          sender INTEGER NOT NULL,
          entries INTEGER NOT NULL,
          bytes INTEGER NOT NULL,
          oldest INTEGER NOT NULL,
          PRIMARY KEY (user, sender)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE apptimist_vouchers (
          id INTEGER PRIMARY KEY,
          subject INTEGER NOT NULL REFERENCES apptimist_users,
          voucher INTEGER NOT NULL REFERENCES apptimist_users,
          UNIQUE (subject, voucher)
        ) STRICT;
        CREATE INDEX apptimist_vouchers_by_subject ON apptimist_vouchers (subject, id, voucher);

        -- The content last: to ask for the size must not read it.
        CREATE TABLE apptimist_files (
          id INTEGER PRIMARY KEY,
          directory INTEGER NOT NULL REFERENCES apptimist_users,
          name TEXT NOT NULL,
          size INTEGER NOT NULL,
          content BLOB NOT NULL,
          UNIQUE (directory, name)
        ) STRICT;
        CREATE INDEX apptimist_files_by_directory ON apptimist_files (directory, size);

        -- The forums' secrets, boxed with a key that isn't here.
        CREATE TABLE apptimist_secrets (
          forum INTEGER PRIMARY KEY REFERENCES apptimist_users,
          boxed BLOB NOT NULL
        ) STRICT;

        -- Hashes of the ephemeral keys that have served a connection.
        CREATE TABLE apptimist_ephemeral_keys (
          hash BLOB NOT NULL PRIMARY KEY,
          expires_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX apptimist_ephemeral_keys_by_end ON apptimist_ephemeral_keys (expires_at);

        CREATE TABLE apptimist_invitations (
          hash BLOB NOT NULL PRIMARY KEY,
          -- Whom it is for; NULL: anybody.
          uid TEXT,
          uses INTEGER NOT NULL,
          expires_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX apptimist_invitations_by_end ON apptimist_invitations (expires_at);
        """),
    // A message is written down when it comes, once for all who get it; only the queues' entries are
    // made for each of them, and many at a time.
    Migration(
      owner: "apptimist", number: 2,
      sqlite: """
        -- What messages have beside their places in queues, in the order in which they came: a new one
        -- gets a number above all that are there and not before those in apptimist_settled.
        CREATE TABLE apptimist_contents (
          id INTEGER PRIMARY KEY,
          -- How many of its recipients have or will have it in their queues.
          holders INTEGER NOT NULL,
          sender INTEGER NOT NULL,
          -- Who gets it: the user's number and the position, each in 8 bytes, big-endian.
          recipients BLOB NOT NULL,
          -- As one of the recipients gets it: the others' headers differ in the recipient.
          header BLOB NOT NULL,
          data BLOB NOT NULL
        ) STRICT;
        INSERT INTO apptimist_contents
          SELECT id, 1, 0, x'', header, data FROM apptimist_messages
          WHERE header IS NOT NULL AND body IS NULL;
        INSERT INTO apptimist_contents
          SELECT min(m.id), count(*), 0, x'', m.header, b.data
          FROM apptimist_messages m JOIN apptimist_bodies b ON b.id = m.body
          GROUP BY m.body, substr(m.header, 1, 10), substr(m.header, 43);

        -- One row: all recipients of the contents before this one have them in their queues. Those of
        -- later ones have them if their queues have got that far.
        CREATE TABLE apptimist_settled (before INTEGER NOT NULL) STRICT;
        INSERT INTO apptimist_settled SELECT coalesce(max(id), 0) + 1 FROM apptimist_contents;

        -- The queues: small rows in the order of the stream, apart from what may be large.
        CREATE TABLE apptimist_places (
          user INTEGER NOT NULL,
          position INTEGER NOT NULL,
          -- 0: message, 1: place of a truncated message, 2: truncation.
          kind INTEGER NOT NULL,
          sender INTEGER NOT NULL,
          size INTEGER NOT NULL,
          -- A message's only.
          content INTEGER,
          -- The message's; of a truncation that of the message that was truncated.
          message_id BLOB NOT NULL,
          PRIMARY KEY (user, position)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO apptimist_places
          SELECT e.user, e.position, e.kind, e.sender, e.size, m.content, m.message_id
          FROM apptimist_entries e JOIN (
            SELECT id, message_id, CASE WHEN header IS NULL THEN NULL WHEN body IS NULL THEN id
              ELSE min(id) OVER (PARTITION BY body, substr(header, 1, 10), substr(header, 43))
              END AS content
            FROM apptimist_messages) m ON m.id = e.message;

        -- The messages that are or were in a queue, by the first 16 bytes of their identifiers:
        -- nobody can make a message that shares them with one of somebody else.
        CREATE TABLE apptimist_known (
          user INTEGER NOT NULL,
          message_id BLOB NOT NULL,
          position INTEGER NOT NULL,
          is_truncated INTEGER NOT NULL DEFAULT 0,
          PRIMARY KEY (user, message_id)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO apptimist_known
          SELECT user, substr(message_id, 1, 16), position, is_truncated
          FROM apptimist_message_ids;
        UPDATE apptimist_dropped SET message_id = substr(message_id, 1, 16);

        DROP TABLE apptimist_message_ids;
        DROP TABLE apptimist_entries;
        DROP TABLE apptimist_messages;
        DROP TABLE apptimist_bodies;
        ALTER TABLE apptimist_places RENAME TO apptimist_entries;
        ALTER TABLE apptimist_known RENAME TO apptimist_message_ids;
        """),
    // What is stored belongs to accounts, and nothing that is done for one is looked for among the rows
    // of thousands of others.
    Migration(
      owner: "apptimist", number: 3,
      sqlite: """
        -- Whether an entry may have another sender than the one before it. The next entry of a sender is
        -- the one right behind, or begins a run: so the index costs a row for each run only.
        ALTER TABLE apptimist_entries ADD COLUMN begins_run INTEGER NOT NULL DEFAULT 1;
        CREATE INDEX apptimist_entries_by_run ON apptimist_entries (user, sender, position)
          WHERE begins_run = 1;
        CREATE INDEX apptimist_shares_by_entries ON apptimist_shares (user, entries DESC, oldest);
        CREATE INDEX apptimist_shares_by_bytes ON apptimist_shares (user, bytes DESC, oldest);

        -- The user who has logged in with the key; NULL: it was used before that was noted.
        ALTER TABLE apptimist_ephemeral_keys ADD COLUMN user INTEGER;
        CREATE INDEX apptimist_ephemeral_keys_by_user
          ON apptimist_ephemeral_keys (user, expires_at) WHERE user IS NOT NULL;

        -- The bytes of the files of a user and the user's forums.
        ALTER TABLE apptimist_queues ADD COLUMN file_bytes INTEGER NOT NULL DEFAULT 0;
        UPDATE apptimist_queues SET file_bytes =
          coalesce((SELECT sum(size) FROM apptimist_files WHERE directory = user), 0)
          + coalesce((SELECT sum(f.size) FROM apptimist_users u
            JOIN apptimist_files f ON f.directory = u.id WHERE u.author = apptimist_queues.user), 0);
        """),
    // Version 2 of the protocol, which shares all that there is with version 1.
    Migration(
      owner: "apptimist", number: 4,
      sqlite: """
        -- Whether a device has proved, in version 2, that it has the account's secret keys.
        ALTER TABLE apptimist_users ADD COLUMN is_proven INTEGER NOT NULL DEFAULT 0;
        -- Whether the account has no version 1 any more.
        ALTER TABLE apptimist_users ADD COLUMN is_closed INTEGER NOT NULL DEFAULT 0;

        -- NULL if it was given in version 1, whose signature says less.
        ALTER TABLE apptimist_vouchers ADD COLUMN signature BLOB;
        CREATE INDEX apptimist_vouchers_by_voucher ON apptimist_vouchers (voucher);

        -- Where the stream tells that the message was truncated.
        ALTER TABLE apptimist_message_ids ADD COLUMN truncated_at INTEGER;
        UPDATE apptimist_message_ids SET truncated_at = e.position FROM apptimist_entries e
          WHERE e.kind = 2 AND apptimist_message_ids.user = e.user
            AND apptimist_message_ids.message_id = substr(e.message_id, 1, 16);

        -- The positions that devices have acknowledged.
        CREATE TABLE apptimist_devices (
          user INTEGER NOT NULL,
          device BLOB NOT NULL,
          position INTEGER NOT NULL,
          -- Ascends with each use of any of the user's devices.
          used INTEGER NOT NULL,
          PRIMARY KEY (user, device)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX apptimist_devices_by_use ON apptimist_devices (user, used);

        -- One row at most: the epoch within which no position is given twice. None in a restored store.
        CREATE TABLE apptimist_epoch (epoch INTEGER NOT NULL) STRICT;
        """),
    // Names and types that mean the same in PostgreSQL, where "user" is whoever is connected, and text holds no NUL.
    Migration(
      owner: "apptimist", number: 5,
      sqlite: """
        ALTER TABLE apptimist_queues RENAME COLUMN user TO owner;
        ALTER TABLE apptimist_entries RENAME COLUMN user TO owner;
        ALTER TABLE apptimist_message_ids RENAME COLUMN user TO owner;
        ALTER TABLE apptimist_dropped RENAME COLUMN user TO owner;
        ALTER TABLE apptimist_shares RENAME COLUMN user TO owner;
        ALTER TABLE apptimist_devices RENAME COLUMN user TO owner;
        ALTER TABLE apptimist_ephemeral_keys RENAME COLUMN user TO owner;
        -- With the column that it selects by, so that SQLite takes it without being told.
        DROP INDEX apptimist_entries_by_run;
        CREATE INDEX apptimist_entries_by_run
          ON apptimist_entries (owner, sender, position, begins_run) WHERE begins_run = 1;
        DROP INDEX apptimist_ephemeral_keys_by_user;
        CREATE INDEX apptimist_ephemeral_keys_by_owner
          ON apptimist_ephemeral_keys (owner, expires_at) WHERE owner IS NOT NULL;

        DROP INDEX apptimist_users_by_uid;
        ALTER TABLE apptimist_users RENAME COLUMN uid TO uid_text;
        ALTER TABLE apptimist_users ADD COLUMN uid BLOB;
        UPDATE apptimist_users SET uid = CAST(uid_text AS BLOB) WHERE uid_text IS NOT NULL;
        ALTER TABLE apptimist_users DROP COLUMN uid_text;
        CREATE INDEX apptimist_users_by_uid ON apptimist_users (uid) WHERE uid IS NOT NULL;

        ALTER TABLE apptimist_invitations RENAME COLUMN uid TO uid_text;
        ALTER TABLE apptimist_invitations ADD COLUMN uid BLOB;
        UPDATE apptimist_invitations SET uid = CAST(uid_text AS BLOB) WHERE uid_text IS NOT NULL;
        ALTER TABLE apptimist_invitations DROP COLUMN uid_text;
        """, wholeSQLite: sqliteSchema, postgreSQL: postgreSQLSchema),
    // What is done for many at once where nodes share the store.
    Migration(owner: "apptimist", number: 6, postgreSQL: postgreSQLFunctions),
  ]
}
