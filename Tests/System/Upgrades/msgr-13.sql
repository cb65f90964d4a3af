-- What msgr kept after its migration 13, as of the commit with that step.
BEGIN TRANSACTION;
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
CREATE TABLE msgr_wallet_nonces (
  nonce TEXT NOT NULL PRIMARY KEY,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "msgr_wallet_nonces" VALUES('a',1764000300000);
CREATE TABLE msgr_wallets (
  address TEXT NOT NULL,
  chain INTEGER NOT NULL,
  username TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
  PRIMARY KEY (address, chain)
) STRICT, WITHOUT ROWID;
INSERT INTO "msgr_wallets" VALUES('0x0000000000000000000000000000000000000001',1,'anna');
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
CREATE TABLE push_targets (target TEXT NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID;
INSERT INTO "push_targets" VALUES('a');
CREATE TABLE store_migrations (owner TEXT NOT NULL, number INTEGER NOT NULL, applied_at INTEGER NOT NULL DEFAULT (unixepoch()), PRIMARY KEY (owner, number)) STRICT, WITHOUT ROWID;
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
INSERT INTO "store_migrations" VALUES('msgr',13,1795690000);
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
CREATE INDEX msgr_wallets_by_user ON msgr_wallets (username);
CREATE INDEX msgr_wallet_nonces_by_time ON msgr_wallet_nonces (expires_at);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('push_outbox',1);
COMMIT;
