-- What apptimist kept after its migration 12, as of the commit with that step.
BEGIN TRANSACTION;
CREATE TABLE apptimist_addresses (
  owner INTEGER NOT NULL,
  device BLOB NOT NULL,
  -- What the outbox knows the device by.
  outbox BLOB NOT NULL,
  kind INTEGER NOT NULL,
  address BLOB NOT NULL,
  tag BLOB NOT NULL,
  -- 0: everybody wakes the device but the keys, 1: nobody but they.
  flags INTEGER NOT NULL,
  keys BLOB NOT NULL,
  bound_at INTEGER NOT NULL,
  -- The moment at which the device has shown itself, and the same rounded down, which rarely changes.
  shown_at INTEGER NOT NULL,
  noted_at INTEGER NOT NULL,
  -- The news that the last wake was queued for, or 0 if the device has shown itself that far.
  woken INTEGER NOT NULL DEFAULT 0,
  -- The moments from which the last wake, and the one before it, were due.
  woken_at INTEGER NOT NULL DEFAULT 0,
  before_at INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (owner, device)
) STRICT;
INSERT INTO "apptimist_addresses" VALUES(1,X'000102030405060708090A0B0C0D0E0F',X'0000000000000001000102030405060708090A0B0C0D0E0F',2,X'746F6B656E3A30303031303230333034303530363037303830393061306230633064306530663130313131323133313431353136313731383139316131623163316431653166',X'0001020304050607',0,X'000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F',1,1,1,1,1,1);
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
CREATE TABLE apptimist_gate_rounds (
  number INTEGER PRIMARY KEY CHECK (number = 1),
  begun_at INTEGER NOT NULL,
  forum INTEGER
) STRICT;
INSERT INTO "apptimist_gate_rounds" VALUES(1,0,NULL);
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
CREATE TABLE apptimist_sessions (
  owner INTEGER NOT NULL,
  node INTEGER NOT NULL,
  session INTEGER NOT NULL,
  device BLOB,
  PRIMARY KEY (node, session)
) STRICT;
INSERT INTO "apptimist_sessions" VALUES(1,1,1,X'000102030405060708090A0B0C0D0E0F');
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
CREATE TABLE msgr_blocks (
          username TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
          blocked TEXT NOT NULL,
          PRIMARY KEY (username, blocked)
        ) STRICT, WITHOUT ROWID;
INSERT INTO "msgr_blocks" VALUES('anna','a');
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
INSERT INTO "msgr_client_ids" VALUES('anna','a',1,X'000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F',1,NULL,1764000000000);
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
        , endpoint TEXT, p256dh BLOB, auth BLOB, is_declarative INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;
INSERT INTO "msgr_devices" VALUES('a','anna',1764000000000,NULL,NULL,NULL,0);
CREATE TABLE msgr_invitations (
          -- SHA-256 of the token.
          hash BLOB NOT NULL PRIMARY KEY,
          uses INTEGER NOT NULL,
          expires_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
INSERT INTO "msgr_invitations" VALUES(X'000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F',1,1864000000000);
CREATE TABLE "msgr_messages" (
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
INSERT INTO "msgr_messages" VALUES('anna',1,'a','a',1764000000000,1,0,NULL,NULL,NULL);
CREATE TABLE msgr_publisher_recipients (
          hash BLOB NOT NULL REFERENCES msgr_publishers ON DELETE CASCADE,
          recipient TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
          PRIMARY KEY (hash, recipient)
        ) STRICT, WITHOUT ROWID;
INSERT INTO "msgr_publisher_recipients" VALUES(X'000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F','anna');
CREATE TABLE msgr_publishers (
          hash BLOB NOT NULL PRIMARY KEY,
          username TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
          name TEXT NOT NULL,
          created_at INTEGER NOT NULL,
          used_at INTEGER NOT NULL,
          UNIQUE (username, name)
        ) STRICT, WITHOUT ROWID;
INSERT INTO "msgr_publishers" VALUES(X'000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F','anna','a',1764000000000,1764000000000);
CREATE TABLE "msgr_sent" (
  sender TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
  id INTEGER NOT NULL,
  recipient TEXT NOT NULL,
  text TEXT NOT NULL,
  sent_at INTEGER NOT NULL,
  client_id TEXT,
  device_id TEXT,
  PRIMARY KEY (sender, id)
) STRICT;
INSERT INTO "msgr_sent" VALUES('anna',1,'a','a',1764000000000,NULL,NULL);
CREATE TABLE msgr_tokens (
          hash BLOB NOT NULL PRIMARY KEY,
          device_id TEXT NOT NULL UNIQUE REFERENCES msgr_devices ON DELETE CASCADE,
          used_at INTEGER NOT NULL
        , username TEXT NOT NULL DEFAULT '', created_at INTEGER NOT NULL DEFAULT 0, device_name TEXT NOT NULL DEFAULT '') STRICT, WITHOUT ROWID;
INSERT INTO "msgr_tokens" VALUES(X'000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F','a',1764000000000,'anna',1764000000000,'');
CREATE TABLE msgr_users (
          username TEXT NOT NULL PRIMARY KEY,
          -- Argon2id, as libsodium writes it.
          password TEXT NOT NULL,
          -- The highest message that was asked past or streamed; what is newer counts as unread.
          seen_id INTEGER NOT NULL DEFAULT 0,
          created_at INTEGER NOT NULL
        , messages INTEGER NOT NULL DEFAULT 0, unread INTEGER NOT NULL DEFAULT 0, sent INTEGER NOT NULL DEFAULT 0, named INTEGER NOT NULL DEFAULT 0, last_id INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;
INSERT INTO "msgr_users" VALUES('anna','$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHRzYWx0c2FsdA$MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE',1,1764000000000,1,0,0,0,0);
CREATE TABLE push_outbox (
  -- Never used twice, so that a late result of a push never settles another one.
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  service TEXT NOT NULL,
  -- What order goes by, and whom the push counts for: the service's own bytes.
  device BLOB NOT NULL,
  account BLOB NOT NULL,
  -- 0 for Apple's push service, 1 for a browser's, 2 for Google's, 3 for Apple's sandbox.
  kind INTEGER NOT NULL,
  address BLOB NOT NULL,
  -- The UUID that Apple knows the push by.
  push_id TEXT NOT NULL,
  -- What the service makes the payload of.
  content BLOB NOT NULL,
  urgency INTEGER NOT NULL,
  collapse_key TEXT,
  -- The service's own number, by which it finds the push again.
  position INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  -- Not before; and not before those to the same device that are older.
  due_at INTEGER NOT NULL,
  is_next INTEGER NOT NULL,
  lease_owner BLOB,
  lease_end INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO "push_outbox" VALUES(1,'msgr',X'61',X'616E6E61',0,X'61','a',X'3120312031202D20300A610A0A0A61',1,NULL,1,1764000000000,1864000000000,1,1,1,NULL,1);
INSERT INTO "push_outbox" VALUES(2,'apptimist',X'0000000000000001000102030405060708090A0B0C0D0E0F',X'0000000000000001',2,X'746F6B656E3A30303031303230333034303530363037303830393061306230633064306530663130313131323133313431353136313731383139316131623163316431653166','00010203-0405-4607-8809-0a0b0c0d0e0f',X'0001020304050607',1,'0001020304050607',1,1,1,0,1,1,NULL,0);
CREATE TABLE push_targets (target TEXT NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID;
INSERT INTO "push_targets" VALUES('a');
CREATE TABLE store_clock (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  time INTEGER NOT NULL
) STRICT;
CREATE TABLE store_history (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  history INTEGER NOT NULL,
  mark TEXT NOT NULL
) STRICT;
INSERT INTO "store_history" VALUES(1,5055086870674105712,'16580961 1795648249569624624');
CREATE TABLE store_migrations (owner TEXT NOT NULL, number INTEGER NOT NULL, applied_at INTEGER NOT NULL DEFAULT (unixepoch()), PRIMARY KEY (owner, number)) STRICT, WITHOUT ROWID;
INSERT INTO "store_migrations" VALUES('apptimist',1,1764000000);
INSERT INTO "store_migrations" VALUES('apptimist',2,1764000000);
INSERT INTO "store_migrations" VALUES('apptimist',3,1764000000);
INSERT INTO "store_migrations" VALUES('apptimist',4,1764000000);
INSERT INTO "store_migrations" VALUES('apptimist',5,1795422623);
INSERT INTO "store_migrations" VALUES('apptimist',7,1795597617);
INSERT INTO "store_migrations" VALUES('apptimist',8,1795623559);
INSERT INTO "store_migrations" VALUES('apptimist',9,1795637886);
INSERT INTO "store_migrations" VALUES('apptimist',10,1795690000);
INSERT INTO "store_migrations" VALUES('apptimist',11,1795690000);
INSERT INTO "store_migrations" VALUES('apptimist',12,1795648249);
INSERT INTO "store_migrations" VALUES('msgr',1,1764000000);
INSERT INTO "store_migrations" VALUES('msgr',2,1764000000);
INSERT INTO "store_migrations" VALUES('msgr',3,1764000000);
INSERT INTO "store_migrations" VALUES('msgr',4,1764000000);
INSERT INTO "store_migrations" VALUES('msgr',5,1764000000);
INSERT INTO "store_migrations" VALUES('msgr',6,1764000000);
INSERT INTO "store_migrations" VALUES('msgr',7,1764000000);
INSERT INTO "store_migrations" VALUES('msgr',8,1795422630);
INSERT INTO "store_migrations" VALUES('msgr',10,1795600000);
INSERT INTO "store_migrations" VALUES('msgr',11,1795690000);
INSERT INTO "store_migrations" VALUES('msgr',12,1795690000);
INSERT INTO "store_migrations" VALUES('push',1,1795690000);
CREATE INDEX msgr_contacts_by_friend ON msgr_contacts (friend);
CREATE INDEX msgr_devices_by_user ON msgr_devices (username, bound_at);
CREATE INDEX msgr_tokens_by_use ON msgr_tokens (used_at);
CREATE INDEX msgr_devices_that_stream ON msgr_devices (username)
          WHERE substr(device_id, 1, 7) = 'stream:';
CREATE INDEX msgr_client_ids_by_time ON msgr_client_ids (sent_at);
CREATE INDEX msgr_client_ids_by_number ON msgr_client_ids (sender, number);
CREATE INDEX msgr_publisher_recipients_by_name ON msgr_publisher_recipients (recipient);
CREATE INDEX msgr_messages_by_sender ON msgr_messages (recipient, sender, id);
CREATE INDEX msgr_messages_by_time ON msgr_messages (sent_at);
CREATE TRIGGER msgr_messages_uncount AFTER DELETE ON msgr_messages BEGIN
  UPDATE msgr_users SET messages = messages - 1,
    unread = unread - (old.id > seen_id AND old.is_read = 0)
  WHERE username = old.recipient;
END;
CREATE INDEX msgr_sent_by_time ON msgr_sent (sent_at);
CREATE TRIGGER msgr_sent_uncount AFTER DELETE ON msgr_sent BEGIN
  UPDATE msgr_users SET sent = sent - 1 WHERE username = old.sender;
END;
CREATE INDEX push_outbox_by_device ON push_outbox (service, device, id);
CREATE INDEX push_outbox_due ON push_outbox (kind, due_at) WHERE is_next = 1;
CREATE INDEX push_outbox_leased ON push_outbox (account) WHERE lease_owner IS NOT NULL;
CREATE TRIGGER push_outbox_next AFTER DELETE ON push_outbox WHEN old.is_next = 1 BEGIN
  UPDATE push_outbox SET is_next = 1
  WHERE id = (
    SELECT min(id) FROM push_outbox WHERE service = old.service AND device = old.device);
END;
CREATE TRIGGER msgr_devices_pushes AFTER DELETE ON msgr_devices BEGIN
  DELETE FROM push_outbox WHERE service = 'msgr' AND device = CAST(old.device_id AS BLOB);
END;
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
CREATE INDEX apptimist_addresses_by_address ON apptimist_addresses (kind, address);
CREATE INDEX apptimist_addresses_by_age ON apptimist_addresses (noted_at);
CREATE TRIGGER apptimist_addresses_gone AFTER DELETE ON apptimist_addresses BEGIN
  DELETE FROM push_outbox
  WHERE service = 'apptimist' AND device = old.outbox AND lease_owner IS NULL;
END;
CREATE TRIGGER apptimist_addresses_added AFTER INSERT ON apptimist_addresses BEGIN
  DELETE FROM apptimist_addresses WHERE (owner, device) IN (
    SELECT owner, device FROM apptimist_addresses
    WHERE kind = new.kind AND address = new.address
      AND NOT (owner = new.owner AND device = new.device)
    ORDER BY bound_at DESC, owner, device LIMIT 1000 OFFSET 3);
END;
CREATE TRIGGER apptimist_addresses_changed AFTER UPDATE OF kind, address ON apptimist_addresses BEGIN
  DELETE FROM apptimist_addresses WHERE (owner, device) IN (
    SELECT owner, device FROM apptimist_addresses
    WHERE kind = new.kind AND address = new.address
      AND NOT (owner = new.owner AND device = new.device)
    ORDER BY bound_at DESC, owner, device LIMIT 1000 OFFSET 3);
END;
CREATE INDEX apptimist_sessions_by_owner ON apptimist_sessions (owner, device);
CREATE VIEW apptimist_sleepers AS
SELECT a.*,
  EXISTS (
    SELECT 1 FROM push_outbox o
    WHERE o.service = 'apptimist' AND o.device = a.outbox AND o.lease_owner IS NULL) AS is_waiting,
  EXISTS (
    SELECT 1 FROM apptimist_sessions s
    WHERE s.owner = a.owner AND s.device = a.device) AS is_open
FROM apptimist_addresses a;
CREATE INDEX apptimist_files_by_gate ON apptimist_files (directory) WHERE name = 'gate';
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('push_outbox',2);
COMMIT;
