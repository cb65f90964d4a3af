import Storage

extension ApptimistStore {
  /// The history of the service's tables. Times are milliseconds since 1970.
  static let migrations = [
    Migration(
      owner: "apptimist", number: 1,
      sql: """
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
        """)
  ]
}
