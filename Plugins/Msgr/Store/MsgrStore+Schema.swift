internal import Storage

extension MsgrStore {
  /// The migrations of the service's tables. Times are milliseconds since 1970.
  static let migrations = [
    Migration(
      owner: MsgrService.name, number: 1,
      sqlite: """
        CREATE TABLE msgr_users (
          username TEXT NOT NULL PRIMARY KEY,
          -- Argon2id, as libsodium writes it.
          password TEXT NOT NULL,
          -- The highest message that was asked past or streamed; what is newer counts as unread.
          seen_id INTEGER NOT NULL DEFAULT 0,
          created_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;

        -- Who has added whom; two are friends if each has added the other.
        CREATE TABLE msgr_contacts (
          username TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
          friend TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
          PRIMARY KEY (username, friend)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX msgr_contacts_by_friend ON msgr_contacts (friend);

        -- Who lets nothing of whom through; it outlives the account that is blocked.
        CREATE TABLE msgr_blocks (
          username TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
          blocked TEXT NOT NULL,
          PRIMARY KEY (username, blocked)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE msgr_devices (
          device_id TEXT NOT NULL PRIMARY KEY,
          username TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
          bound_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX msgr_devices_by_user ON msgr_devices (username, bound_at);

        -- One token a device.
        CREATE TABLE msgr_tokens (
          hash BLOB NOT NULL PRIMARY KEY,
          device_id TEXT NOT NULL UNIQUE REFERENCES msgr_devices ON DELETE CASCADE,
          used_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;

        -- The inboxes. What a deleted account has sent stays with those it was sent to.
        CREATE TABLE msgr_messages (
          id INTEGER NOT NULL PRIMARY KEY,
          recipient TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
          sender TEXT NOT NULL,
          text TEXT NOT NULL,
          sent_at INTEGER NOT NULL,
          is_add_request INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX msgr_messages_by_recipient ON msgr_messages (recipient, id);
        CREATE INDEX msgr_messages_by_sender ON msgr_messages (recipient, sender, id);
        CREATE INDEX msgr_messages_by_time ON msgr_messages (sent_at);

        -- One row: the last identifier that was given away, be its message still there or not.
        CREATE TABLE msgr_last_id (id INTEGER NOT NULL) STRICT;
        INSERT INTO msgr_last_id VALUES (0);
        """),
    // The tables of the outbox.
    Migration(
      owner: MsgrService.name, number: 2,
      sqlite: """
        CREATE TABLE push_outbox (
          -- Never used twice: who comes late to settle a push must not find another.
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          device_id TEXT NOT NULL REFERENCES msgr_devices ON DELETE CASCADE,
          message_id INTEGER NOT NULL,
          apns_id TEXT NOT NULL,
          -- A copy of the message: it is pushed even if the inbox has dropped it.
          sender TEXT NOT NULL,
          text TEXT NOT NULL,
          is_add_request INTEGER NOT NULL,
          badge INTEGER NOT NULL,
          created_at INTEGER NOT NULL,
          expires_at INTEGER NOT NULL,
          attempts INTEGER NOT NULL DEFAULT 0,
          -- Not before; and not before those to the same device that are older.
          due_at INTEGER NOT NULL,
          is_next INTEGER NOT NULL,
          lease_owner BLOB,
          lease_end INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        CREATE INDEX push_outbox_by_device ON push_outbox (device_id, id);
        CREATE INDEX push_outbox_due ON push_outbox (due_at) WHERE is_next;

        CREATE TRIGGER push_outbox_next AFTER DELETE ON push_outbox WHEN old.is_next BEGIN
          UPDATE push_outbox SET is_next = 1
          WHERE id = (SELECT min(id) FROM push_outbox WHERE device_id = old.device_id);
        END;

        -- The push services, by URL and topic, that have taken a push: where one refuses a device,
        -- that is the device's fault.
        CREATE TABLE push_targets (target TEXT NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID;
        """),
    // Counts and names that each message needs, stored where they are found at once: counting rows would cost more the
    // more messages wait, and a token's account is that of its device as long as both are there.
    Migration(
      owner: MsgrService.name, number: 3,
      sqlite: """
        ALTER TABLE msgr_users ADD COLUMN messages INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE msgr_users ADD COLUMN unread INTEGER NOT NULL DEFAULT 0;
        UPDATE msgr_users SET
          messages = (SELECT count(*) FROM msgr_messages WHERE recipient = username),
          unread = (SELECT count(*) FROM msgr_messages WHERE recipient = username AND id > seen_id);

        ALTER TABLE msgr_tokens ADD COLUMN username TEXT NOT NULL DEFAULT '';
        UPDATE msgr_tokens SET username =
          (SELECT username FROM msgr_devices d WHERE d.device_id = msgr_tokens.device_id);

        CREATE TRIGGER msgr_messages_uncount AFTER DELETE ON msgr_messages BEGIN
          UPDATE msgr_users SET messages = messages - 1, unread = unread - (old.id > seen_id)
          WHERE username = old.recipient;
        END;
        """),
    // Names of devices that only stream belong to a user. The index is what tidying up deletes by.
    Migration(
      owner: MsgrService.name, number: 4,
      sqlite: """
        UPDATE msgr_tokens SET device_id = device_id || '/' || username
        WHERE substr(device_id, 1, 7) = 'stream:';
        UPDATE msgr_devices SET device_id = device_id || '/' || username
        WHERE substr(device_id, 1, 7) = 'stream:';

        CREATE INDEX msgr_tokens_by_use ON msgr_tokens (used_at);
        """),
    // Browsers: sessions with names, own messages, retries of sends, invitations.
    Migration(
      owner: MsgrService.name, number: 5,
      sqlite: """
        ALTER TABLE msgr_tokens ADD COLUMN created_at INTEGER NOT NULL DEFAULT 0;
        UPDATE msgr_tokens SET created_at =
          (SELECT bound_at FROM msgr_devices d WHERE d.device_id = msgr_tokens.device_id);
        -- The user's name for the device, empty if none was given.
        ALTER TABLE msgr_tokens ADD COLUMN device_name TEXT NOT NULL DEFAULT '';

        CREATE INDEX msgr_devices_that_stream ON msgr_devices (username)
          WHERE substr(device_id, 1, 7) = 'stream:';

        -- What users of such devices have sent, for their other devices.
        CREATE TABLE msgr_sent (
          id INTEGER NOT NULL PRIMARY KEY,
          sender TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
          recipient TEXT NOT NULL,
          text TEXT NOT NULL,
          sent_at INTEGER NOT NULL,
          client_id TEXT,
          -- The device that has sent it, whose streams don't bring it, or null if the sender gave a password.
          device_id TEXT
        ) STRICT;
        CREATE INDEX msgr_sent_by_sender ON msgr_sent (sender, id);
        ALTER TABLE msgr_users ADD COLUMN sent INTEGER NOT NULL DEFAULT 0;
        CREATE TRIGGER msgr_sent_uncount AFTER DELETE ON msgr_sent BEGIN
          UPDATE msgr_users SET sent = sent - 1 WHERE username = old.sender;
        END;

        -- The sends that clients have named, so that a retry is known.
        CREATE TABLE msgr_client_ids (
          sender TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
          client_id TEXT NOT NULL,
          -- Counts the sender's, so that the latest ones can be told.
          number INTEGER NOT NULL,
          -- SHA-256 of recipient and text.
          content BLOB NOT NULL,
          id INTEGER NOT NULL,
          own_id INTEGER,
          sent_at INTEGER NOT NULL,
          PRIMARY KEY (sender, client_id)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX msgr_client_ids_by_time ON msgr_client_ids (sent_at);
        CREATE INDEX msgr_client_ids_by_number ON msgr_client_ids (sender, number);
        ALTER TABLE msgr_users ADD COLUMN named INTEGER NOT NULL DEFAULT 0;

        -- A message that was read counts as unread no more, though others before it may.
        ALTER TABLE msgr_messages ADD COLUMN is_read INTEGER NOT NULL DEFAULT 0;
        DROP TRIGGER msgr_messages_uncount;
        CREATE TRIGGER msgr_messages_uncount AFTER DELETE ON msgr_messages BEGIN
          UPDATE msgr_users SET messages = messages - 1,
            unread = unread - (old.id > seen_id AND NOT old.is_read)
          WHERE username = old.recipient;
        END;

        CREATE TABLE msgr_invitations (
          -- SHA-256 of the token.
          hash BLOB NOT NULL PRIMARY KEY,
          uses INTEGER NOT NULL,
          expires_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        """),
    // Tokens of programs that publish, and what a published message has beside its text.
    Migration(
      owner: MsgrService.name, number: 6,
      sqlite: """
        CREATE TABLE msgr_publishers (
          hash BLOB NOT NULL PRIMARY KEY,
          username TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
          name TEXT NOT NULL,
          created_at INTEGER NOT NULL,
          used_at INTEGER NOT NULL,
          UNIQUE (username, name)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE msgr_publisher_recipients (
          hash BLOB NOT NULL REFERENCES msgr_publishers ON DELETE CASCADE,
          recipient TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
          PRIMARY KEY (hash, recipient)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX msgr_publisher_recipients_by_name ON msgr_publisher_recipients (recipient);

        ALTER TABLE msgr_messages ADD COLUMN title TEXT;
        ALTER TABLE msgr_messages ADD COLUMN priority INTEGER;
        ALTER TABLE msgr_messages ADD COLUMN link TEXT;
        ALTER TABLE push_outbox ADD COLUMN title TEXT;
        ALTER TABLE push_outbox ADD COLUMN priority INTEGER;
        ALTER TABLE push_outbox ADD COLUMN link TEXT;
        """),
    // Pushes to browsers, which have an outbox of their own among the same rows.
    Migration(
      owner: MsgrService.name, number: 7,
      sqlite: """
        ALTER TABLE msgr_devices ADD COLUMN endpoint TEXT;
        ALTER TABLE msgr_devices ADD COLUMN p256dh BLOB;
        ALTER TABLE msgr_devices ADD COLUMN auth BLOB;
        ALTER TABLE msgr_devices ADD COLUMN is_declarative INTEGER NOT NULL DEFAULT 0;

        ALTER TABLE push_outbox ADD COLUMN is_web INTEGER NOT NULL DEFAULT 0;
        DROP INDEX push_outbox_due;
        CREATE INDEX push_outbox_due ON push_outbox (is_web, due_at) WHERE is_next;
        """),
    // Identifiers count in each inbox by itself, and conditions mean the same in PostgreSQL.
    Migration(
      owner: MsgrService.name, number: 8,
      sqlite: """
        -- The last identifier in the user's log, be its message still there or not.
        ALTER TABLE msgr_users ADD COLUMN last_id INTEGER NOT NULL DEFAULT 0;
        UPDATE msgr_users SET last_id = (SELECT id FROM msgr_last_id);
        DROP TABLE msgr_last_id;

        CREATE TABLE msgr_inboxes (
          recipient TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
          id INTEGER NOT NULL,
          sender TEXT NOT NULL,
          text TEXT NOT NULL,
          sent_at INTEGER NOT NULL,
          is_add_request INTEGER NOT NULL,
          is_read INTEGER NOT NULL DEFAULT 0,
          title TEXT,
          priority INTEGER,
          link TEXT,
          PRIMARY KEY (recipient, id)
        ) STRICT;
        INSERT INTO msgr_inboxes
          SELECT recipient, id, sender, text, sent_at, is_add_request, is_read, title, priority, link
          FROM msgr_messages ORDER BY id;
        DROP TABLE msgr_messages;
        ALTER TABLE msgr_inboxes RENAME TO msgr_messages;
        CREATE INDEX msgr_messages_by_sender ON msgr_messages (recipient, sender, id);
        CREATE INDEX msgr_messages_by_time ON msgr_messages (sent_at);
        CREATE TRIGGER msgr_messages_uncount AFTER DELETE ON msgr_messages BEGIN
          UPDATE msgr_users SET messages = messages - 1,
            unread = unread - (old.id > seen_id AND old.is_read = 0)
          WHERE username = old.recipient;
        END;

        CREATE TABLE msgr_copies (
          sender TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
          id INTEGER NOT NULL,
          recipient TEXT NOT NULL,
          text TEXT NOT NULL,
          sent_at INTEGER NOT NULL,
          client_id TEXT,
          device_id TEXT,
          PRIMARY KEY (sender, id)
        ) STRICT;
        INSERT INTO msgr_copies
          SELECT sender, id, recipient, text, sent_at, client_id, device_id
          FROM msgr_sent ORDER BY id;
        DROP TABLE msgr_sent;
        ALTER TABLE msgr_copies RENAME TO msgr_sent;
        CREATE INDEX msgr_sent_by_time ON msgr_sent (sent_at);
        CREATE TRIGGER msgr_sent_uncount AFTER DELETE ON msgr_sent BEGIN
          UPDATE msgr_users SET sent = sent - 1 WHERE username = old.sender;
        END;

        DROP INDEX push_outbox_due;
        CREATE INDEX push_outbox_due ON push_outbox (is_web, due_at) WHERE is_next = 1;
        """, wholeSQLite: sqliteSchema, postgreSQL: postgreSQLSchema),
    // What is done for many at once where nodes share the store.
    Migration(owner: "msgr", number: 9, postgreSQL: postgreSQLFunctions),
  ]
}
