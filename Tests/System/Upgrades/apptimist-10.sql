-- What apptimist kept after its migration 10, as of commit d83ccdb5.
BEGIN TRANSACTION;
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
INSERT INTO "apptimist_contents" VALUES(1,1,1,X'000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F',X'000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F',X'000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F');
CREATE TABLE apptimist_devices (
  owner INTEGER NOT NULL,
  device BLOB NOT NULL,
  position INTEGER NOT NULL,
  -- Ascends with each use of any of the user's devices.
  used INTEGER NOT NULL,
  PRIMARY KEY (owner, device)
) STRICT, WITHOUT ROWID;
INSERT INTO "apptimist_devices" VALUES(1,X'000102030405060708090A0B0C0D0E0F',1,1);
CREATE TABLE apptimist_dropped (
          owner INTEGER NOT NULL,
          position INTEGER NOT NULL,
          message_id BLOB NOT NULL,
          PRIMARY KEY (owner, position)
        ) STRICT, WITHOUT ROWID;
INSERT INTO "apptimist_dropped" VALUES(1,1,X'000102030405060708090A0B0C0D0E0F');
CREATE TABLE "apptimist_entries" (
          owner INTEGER NOT NULL,
          position INTEGER NOT NULL,
          -- 0: message, 1: place of a truncated message, 2: truncation.
          kind INTEGER NOT NULL,
          sender INTEGER NOT NULL,
          size INTEGER NOT NULL,
          -- A message's only.
          content INTEGER,
          -- The message's; of a truncation that of the message that was truncated.
          message_id BLOB NOT NULL, begins_run INTEGER NOT NULL DEFAULT 1,
          PRIMARY KEY (owner, position)
        ) STRICT, WITHOUT ROWID;
INSERT INTO "apptimist_entries" VALUES(1,1,1,1,1,NULL,X'000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F',1);
CREATE TABLE apptimist_ephemeral_keys (
          hash BLOB NOT NULL PRIMARY KEY,
          expires_at INTEGER NOT NULL
        , owner INTEGER) STRICT, WITHOUT ROWID;
INSERT INTO "apptimist_ephemeral_keys" VALUES(X'000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F',1864000000000,NULL);
CREATE TABLE apptimist_files (
          id INTEGER PRIMARY KEY,
          directory INTEGER NOT NULL REFERENCES apptimist_users,
          name TEXT NOT NULL,
          size INTEGER NOT NULL,
          content BLOB NOT NULL,
          UNIQUE (directory, name)
        ) STRICT;
INSERT INTO "apptimist_files" VALUES(1,1,'a',1,X'000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F');
CREATE TABLE apptimist_invitations (
          hash BLOB NOT NULL PRIMARY KEY,
          -- Whom it is for; NULL: anybody.
          uses INTEGER NOT NULL,
          expires_at INTEGER NOT NULL
        , uid BLOB) STRICT, WITHOUT ROWID;
INSERT INTO "apptimist_invitations" VALUES(X'000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F',1,1864000000000,NULL);
CREATE TABLE apptimist_links (
  slot TEXT NOT NULL,
  part INTEGER NOT NULL,
  network TEXT NOT NULL,
  expires INTEGER NOT NULL,
  -- NULL once it was read.
  content BLOB,
  PRIMARY KEY (slot, part)
) STRICT, WITHOUT ROWID;
INSERT INTO "apptimist_links" VALUES('000102030405060708090a0b0c0d0e0f',1,'192.0.2.1',1,X'0001020304050607');
CREATE TABLE "apptimist_message_ids" (
          owner INTEGER NOT NULL,
          message_id BLOB NOT NULL,
          position INTEGER NOT NULL,
          is_truncated INTEGER NOT NULL DEFAULT 0, truncated_at INTEGER,
          PRIMARY KEY (owner, message_id)
        ) STRICT, WITHOUT ROWID;
INSERT INTO "apptimist_message_ids" VALUES(1,X'000102030405060708090A0B0C0D0E0F',1,1,NULL);
CREATE TABLE apptimist_queues (
          owner INTEGER PRIMARY KEY REFERENCES apptimist_users,
          last_position INTEGER NOT NULL DEFAULT 0,
          entries INTEGER NOT NULL DEFAULT 0,
          bytes INTEGER NOT NULL DEFAULT 0,
          -- How many rows apptimist_dropped has for it.
          dropped INTEGER NOT NULL DEFAULT 0
        ) STRICT;
INSERT INTO "apptimist_queues" VALUES(1,1,1,1,1);
CREATE TABLE apptimist_secrets (
          forum INTEGER PRIMARY KEY REFERENCES apptimist_users,
          boxed BLOB NOT NULL
        ) STRICT;
INSERT INTO "apptimist_secrets" VALUES(1,X'000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F');
CREATE TABLE apptimist_settled (before INTEGER NOT NULL) STRICT;
INSERT INTO "apptimist_settled" VALUES(1);
CREATE TABLE apptimist_shares (
          owner INTEGER NOT NULL,
          sender INTEGER NOT NULL,
          entries INTEGER NOT NULL,
          bytes INTEGER NOT NULL,
          oldest INTEGER NOT NULL,
          PRIMARY KEY (owner, sender)
        ) STRICT, WITHOUT ROWID;
INSERT INTO "apptimist_shares" VALUES(1,1,1,1,1);
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
          name TEXT NOT NULL
        , is_proven INTEGER NOT NULL DEFAULT 0, is_closed INTEGER NOT NULL DEFAULT 0, uid BLOB, file_bytes INTEGER NOT NULL DEFAULT 0, uid_proof INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO "apptimist_users" VALUES(1,X'000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F',1,NULL,X'000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F',NULL,'a',0,0,NULL,1,0);
CREATE TABLE apptimist_vouchers (
          id INTEGER PRIMARY KEY,
          subject INTEGER NOT NULL REFERENCES apptimist_users,
          voucher INTEGER NOT NULL REFERENCES apptimist_users, signature BLOB,
          UNIQUE (subject, voucher)
        ) STRICT;
INSERT INTO "apptimist_vouchers" VALUES(1,1,1,NULL);
CREATE TABLE store_clock (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  time INTEGER NOT NULL
) STRICT;
CREATE TABLE store_history (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  history INTEGER NOT NULL,
  mark TEXT NOT NULL
) STRICT;
INSERT INTO "store_history" VALUES(1,5430297815483481144,'16493042 1795637886293834805');
CREATE TABLE store_migrations (owner TEXT NOT NULL, number INTEGER NOT NULL, applied_at INTEGER NOT NULL DEFAULT (unixepoch()), PRIMARY KEY (owner, number)) STRICT, WITHOUT ROWID;
INSERT INTO "store_migrations" VALUES('apptimist',1,1764000000);
INSERT INTO "store_migrations" VALUES('apptimist',2,1764000000);
INSERT INTO "store_migrations" VALUES('apptimist',3,1764000000);
INSERT INTO "store_migrations" VALUES('apptimist',4,1764000000);
INSERT INTO "store_migrations" VALUES('apptimist',5,1795422623);
INSERT INTO "store_migrations" VALUES('apptimist',7,1795597617);
INSERT INTO "store_migrations" VALUES('apptimist',8,1795623559);
INSERT INTO "store_migrations" VALUES('apptimist',9,1795637886);
INSERT INTO "store_migrations" VALUES('apptimist',10,1795637886);
CREATE INDEX apptimist_users_by_name ON apptimist_users (search_name)
          WHERE search_name IS NOT NULL;
CREATE INDEX apptimist_users_by_author ON apptimist_users (author)
          WHERE author IS NOT NULL;
CREATE INDEX apptimist_vouchers_by_subject ON apptimist_vouchers (subject, id, voucher);
CREATE INDEX apptimist_files_by_directory ON apptimist_files (directory, size);
CREATE INDEX apptimist_ephemeral_keys_by_end ON apptimist_ephemeral_keys (expires_at);
CREATE INDEX apptimist_invitations_by_end ON apptimist_invitations (expires_at);
CREATE INDEX apptimist_shares_by_entries ON apptimist_shares (owner, entries DESC, oldest);
CREATE INDEX apptimist_shares_by_bytes ON apptimist_shares (owner, bytes DESC, oldest);
CREATE INDEX apptimist_vouchers_by_voucher ON apptimist_vouchers (voucher);
CREATE INDEX apptimist_devices_by_use ON apptimist_devices (owner, used);
CREATE INDEX apptimist_entries_by_run
  ON apptimist_entries (owner, sender, position, begins_run) WHERE begins_run = 1;
CREATE INDEX apptimist_ephemeral_keys_by_owner
  ON apptimist_ephemeral_keys (owner, expires_at) WHERE owner IS NOT NULL;
CREATE INDEX apptimist_users_by_uid ON apptimist_users (uid) WHERE uid IS NOT NULL;
COMMIT;
