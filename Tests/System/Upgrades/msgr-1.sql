-- What msgr kept after its migration 1, as of commit 8cba036.
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
        ) STRICT, WITHOUT ROWID;
INSERT INTO "msgr_tokens" VALUES(X'000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F','a',1764000000000);
CREATE TABLE msgr_users (
          username TEXT NOT NULL PRIMARY KEY,
          -- Argon2id, as libsodium writes it.
          password TEXT NOT NULL,
          -- The highest message that was asked past or streamed; what is newer counts as unread.
          seen_id INTEGER NOT NULL DEFAULT 0,
          created_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
INSERT INTO "msgr_users" VALUES('anna','$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHRzYWx0c2FsdA$MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE',1,1764000000000);
CREATE TABLE store_migrations (owner TEXT NOT NULL, number INTEGER NOT NULL, applied_at INTEGER NOT NULL DEFAULT (unixepoch()), PRIMARY KEY (owner, number)) STRICT, WITHOUT ROWID;
INSERT INTO "store_migrations" VALUES('msgr',1,1764000000);
CREATE INDEX msgr_contacts_by_friend ON msgr_contacts (friend);
CREATE INDEX msgr_devices_by_user ON msgr_devices (username, bound_at);
CREATE INDEX msgr_messages_by_recipient ON msgr_messages (recipient, id);
CREATE INDEX msgr_messages_by_sender ON msgr_messages (recipient, sender, id);
CREATE INDEX msgr_messages_by_time ON msgr_messages (sent_at);
COMMIT;
