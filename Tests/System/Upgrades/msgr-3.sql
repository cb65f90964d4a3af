-- What msgr kept after its migration 3, as of commit 70932ca.
BEGIN TRANSACTION;
CREATE TABLE msgr_blocks (
          username TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
          blocked TEXT NOT NULL,
          PRIMARY KEY (username, blocked)
        ) STRICT, WITHOUT ROWID;
INSERT INTO "msgr_blocks" VALUES('anna','a');
CREATE TABLE msgr_contacts (
          username TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
          friend TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
          PRIMARY KEY (username, friend)
        ) STRICT, WITHOUT ROWID;
INSERT INTO "msgr_contacts" VALUES('anna','anna');
CREATE TABLE msgr_devices (
          device_id TEXT NOT NULL PRIMARY KEY,
          username TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
          bound_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
INSERT INTO "msgr_devices" VALUES('a','anna',1764000000000);
CREATE TABLE msgr_last_id (id INTEGER NOT NULL) STRICT;
INSERT INTO "msgr_last_id" VALUES(0);
CREATE TABLE msgr_messages (
          id INTEGER NOT NULL PRIMARY KEY,
          recipient TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
          sender TEXT NOT NULL,
          text TEXT NOT NULL,
          sent_at INTEGER NOT NULL,
          is_add_request INTEGER NOT NULL
        ) STRICT;
INSERT INTO "msgr_messages" VALUES(1,'anna','a','a',1764000000000,1);
CREATE TABLE msgr_tokens (
          hash BLOB NOT NULL PRIMARY KEY,
          device_id TEXT NOT NULL UNIQUE REFERENCES msgr_devices ON DELETE CASCADE,
          used_at INTEGER NOT NULL
        , username TEXT NOT NULL DEFAULT '') STRICT, WITHOUT ROWID;
INSERT INTO "msgr_tokens" VALUES(X'000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F','a',1764000000000,'anna');
CREATE TABLE msgr_users (
          username TEXT NOT NULL PRIMARY KEY,
          -- Argon2id, as libsodium writes it.
          password TEXT NOT NULL,
          -- The highest message that was asked past or streamed; what is newer counts as unread.
          seen_id INTEGER NOT NULL DEFAULT 0,
          created_at INTEGER NOT NULL
        , messages INTEGER NOT NULL DEFAULT 0, unread INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;
INSERT INTO "msgr_users" VALUES('anna','$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHRzYWx0c2FsdA$MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE',1,1764000000000,1,0);
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
INSERT INTO "push_outbox" VALUES(1,'a',1,'a','a','a',1,1,1764000000000,1864000000000,1,1,1,NULL,1);
CREATE TABLE push_targets (target TEXT NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID;
INSERT INTO "push_targets" VALUES('a');
CREATE TABLE store_migrations (owner TEXT NOT NULL, number INTEGER NOT NULL, applied_at INTEGER NOT NULL DEFAULT (unixepoch()), PRIMARY KEY (owner, number)) STRICT, WITHOUT ROWID;
INSERT INTO "store_migrations" VALUES('msgr',1,1764000000);
INSERT INTO "store_migrations" VALUES('msgr',2,1764000000);
INSERT INTO "store_migrations" VALUES('msgr',3,1764000000);
CREATE INDEX msgr_contacts_by_friend ON msgr_contacts (friend);
CREATE INDEX msgr_devices_by_user ON msgr_devices (username, bound_at);
CREATE INDEX msgr_messages_by_recipient ON msgr_messages (recipient, id);
CREATE INDEX msgr_messages_by_sender ON msgr_messages (recipient, sender, id);
CREATE INDEX msgr_messages_by_time ON msgr_messages (sent_at);
CREATE INDEX push_outbox_by_device ON push_outbox (device_id, id);
CREATE INDEX push_outbox_due ON push_outbox (due_at) WHERE is_next;
CREATE TRIGGER push_outbox_next AFTER DELETE ON push_outbox WHEN old.is_next BEGIN
        UPDATE push_outbox SET is_next = 1
        WHERE id = (SELECT min(id) FROM push_outbox WHERE device_id = old.device_id);
      END;
CREATE TRIGGER msgr_messages_uncount AFTER DELETE ON msgr_messages BEGIN
          UPDATE msgr_users SET messages = messages - 1, unread = unread - (old.id > seen_id)
          WHERE username = old.recipient;
        END;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('push_outbox',1);
COMMIT;
