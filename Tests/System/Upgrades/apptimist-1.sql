-- What apptimist kept after its migration 1, as of commit cde160a3.
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
INSERT INTO "apptimist_addresses" VALUES(1,X'78',X'78',1,X'78',X'78',1,X'78',1,1,1,0,0,0);
CREATE TABLE apptimist_contacts (
  owner INTEGER NOT NULL,
  contact INTEGER NOT NULL,
  added_at INTEGER NOT NULL,
  PRIMARY KEY (owner, contact)
) STRICT, WITHOUT ROWID;
INSERT INTO "apptimist_contacts" VALUES(1,1,1);
CREATE TABLE apptimist_contents (
  id INTEGER PRIMARY KEY,
  -- How many of its recipients have or will have it in their queues.
  holders INTEGER NOT NULL,
  sender INTEGER NOT NULL,
  -- The recipients: the user's number and the position, each in 8 bytes, big-endian.
  recipients BLOB NOT NULL,
  -- As one of the recipients gets it: the others' headers differ in the recipient.
  header BLOB NOT NULL,
  data BLOB NOT NULL
) STRICT;
INSERT INTO "apptimist_contents" VALUES(1,1,1,X'78',X'78',X'78');
CREATE TABLE apptimist_devices (
  owner INTEGER NOT NULL,
  device BLOB NOT NULL,
  position INTEGER NOT NULL,
  -- Ascends with each use of any of the user's devices.
  used INTEGER NOT NULL,
  PRIMARY KEY (owner, device)
) STRICT, WITHOUT ROWID;
INSERT INTO "apptimist_devices" VALUES(1,X'78',1,1);
CREATE TABLE apptimist_disabled (
  account INTEGER NOT NULL PRIMARY KEY REFERENCES apptimist_users,
  search_name BLOB,
  uid BLOB,
  disabled_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "apptimist_disabled" VALUES(1,NULL,NULL,1);
CREATE TABLE apptimist_dropped (
  owner INTEGER NOT NULL,
  position INTEGER NOT NULL,
  message_id BLOB NOT NULL,
  PRIMARY KEY (owner, position)
) STRICT, WITHOUT ROWID;
INSERT INTO "apptimist_dropped" VALUES(1,1,X'78');
CREATE TABLE apptimist_entries (
  owner INTEGER NOT NULL,
  position INTEGER NOT NULL,
  -- 0: message, 1: place of a truncated message, 2: truncation.
  kind INTEGER NOT NULL,
  -- To whose share it belongs, as in apptimist_shares.
  sender INTEGER NOT NULL,
  size INTEGER NOT NULL,
  -- A message's only.
  content INTEGER,
  -- The message's; of a truncation that of the message that was truncated.
  message_id BLOB NOT NULL,
  -- Whether an entry may have another sender than the one before it. The next entry of a sender is the one right behind,
  -- or begins a run: so the index costs a row for each run only.
  begins_run INTEGER NOT NULL DEFAULT 1,
  PRIMARY KEY (owner, position)
) STRICT, WITHOUT ROWID;
INSERT INTO "apptimist_entries" VALUES(1,1,1,1,1,NULL,X'78',1);
CREATE TABLE apptimist_ephemeral_keys (
  hash BLOB NOT NULL PRIMARY KEY,
  expires_at INTEGER NOT NULL,
  -- The user who has logged in with the key, or NULL if it was used before that was noted.
  owner INTEGER
) STRICT, WITHOUT ROWID;
INSERT INTO "apptimist_ephemeral_keys" VALUES(X'78',1,NULL);
CREATE TABLE apptimist_files (
  id INTEGER PRIMARY KEY,
  directory INTEGER NOT NULL REFERENCES apptimist_users,
  name TEXT NOT NULL,
  size INTEGER NOT NULL,
  content BLOB NOT NULL,
  UNIQUE (directory, name)
) STRICT;
INSERT INTO "apptimist_files" VALUES(1,1,'x',1,X'78');
CREATE TABLE apptimist_gates (
  forum INTEGER PRIMARY KEY REFERENCES apptimist_users,
  author INTEGER NOT NULL,
  due_at INTEGER NOT NULL
) STRICT;
INSERT INTO "apptimist_gates" VALUES(1,1,1);
CREATE TABLE apptimist_invitations (
  hash BLOB NOT NULL PRIMARY KEY,
  -- The only account that it is for, or NULL for any.
  uid BLOB,
  uses INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "apptimist_invitations" VALUES(X'78',NULL,1,1);
CREATE TABLE apptimist_links (
  slot TEXT NOT NULL,
  part INTEGER NOT NULL,
  network TEXT NOT NULL,
  site TEXT NOT NULL,
  expires INTEGER NOT NULL,
  -- NULL once it was read.
  content BLOB,
  PRIMARY KEY (slot, part)
) STRICT, WITHOUT ROWID;
INSERT INTO "apptimist_links" VALUES('x',1,'x','x',1,NULL);
CREATE TABLE apptimist_message_ids (
  owner INTEGER NOT NULL,
  message_id BLOB NOT NULL,
  position INTEGER NOT NULL,
  is_truncated INTEGER NOT NULL DEFAULT 0,
  -- The position at which the stream says that the message was truncated.
  truncated_at INTEGER,
  PRIMARY KEY (owner, message_id)
) STRICT, WITHOUT ROWID;
INSERT INTO "apptimist_message_ids" VALUES(1,X'78',1,0,NULL);
CREATE TABLE apptimist_queues (
  owner INTEGER PRIMARY KEY REFERENCES apptimist_users,
  last_position INTEGER NOT NULL DEFAULT 0,
  entries INTEGER NOT NULL DEFAULT 0,
  bytes INTEGER NOT NULL DEFAULT 0,
  -- How many rows apptimist_dropped has for it.
  dropped INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO "apptimist_queues" VALUES(1,0,0,0,0);
CREATE TABLE apptimist_secrets (
  forum INTEGER PRIMARY KEY REFERENCES apptimist_users,
  boxed BLOB NOT NULL
) STRICT;
INSERT INTO "apptimist_secrets" VALUES(1,X'78');
CREATE TABLE apptimist_sessions (
  owner INTEGER NOT NULL,
  node INTEGER NOT NULL,
  session INTEGER NOT NULL,
  device BLOB,
  PRIMARY KEY (node, session)
) STRICT;
INSERT INTO "apptimist_sessions" VALUES(1,1,1,NULL);
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
CREATE TABLE apptimist_sites (
  id INTEGER PRIMARY KEY,
  site TEXT NOT NULL UNIQUE
) STRICT;
INSERT INTO "apptimist_sites" VALUES(1,'');
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
  uid BLOB,
  -- Who signed for the user's address: 0 for nobody, else a key or a contract.
  uid_proof INTEGER NOT NULL DEFAULT 0,
  name TEXT NOT NULL,
  -- Whether a device has proved, in version 2, that it has the account's secret keys.
  is_proven INTEGER NOT NULL DEFAULT 0,
  -- Whether the account has no version 1 any more.
  is_closed INTEGER NOT NULL DEFAULT 0,
  -- The bytes of the files of a user and the user's forums. With the account and not with the mailbox, which is another's to
  -- lock: who writes files lets messages come meanwhile.
  file_bytes INTEGER NOT NULL DEFAULT 0,
  -- The site that made the account.
  site INTEGER NOT NULL DEFAULT 1 REFERENCES apptimist_sites,
  -- When the account was made, and the day on which its user has logged in last.
  made_at INTEGER NOT NULL DEFAULT 0,
  seen_at INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO "apptimist_users" VALUES(1,X'78',1,NULL,X'78',NULL,NULL,0,'x',0,0,0,1,0,0);
CREATE TABLE apptimist_vouchers (
  id INTEGER PRIMARY KEY,
  subject INTEGER NOT NULL REFERENCES apptimist_users,
  voucher INTEGER NOT NULL REFERENCES apptimist_users,
  -- NULL if it was given in version 1, whose signature says less.
  signature BLOB,
  -- The site that made the voucher's account.
  site INTEGER NOT NULL DEFAULT 1,
  UNIQUE (subject, voucher)
) STRICT;
INSERT INTO "apptimist_vouchers" VALUES(1,1,1,NULL,1);
CREATE TABLE push_outbox (
  -- Never used twice, so that the late result of a push never ends another one.
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
INSERT INTO "push_outbox" VALUES(1,'x',X'78',X'78',1,X'78','x',X'78',1,NULL,1,1,1,0,1,1,NULL,0);
CREATE TABLE push_targets (target TEXT NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID;
INSERT INTO "push_targets" VALUES('x');
CREATE TABLE store_migrations (
  owner TEXT NOT NULL,
  number INTEGER NOT NULL,
  applied_at INTEGER NOT NULL DEFAULT (unixepoch()),
  PRIMARY KEY (owner, number)
) STRICT, WITHOUT ROWID;
INSERT INTO "store_migrations" VALUES('apptimist',1,1700000000);
INSERT INTO "store_migrations" VALUES('push',1,1700000000);
CREATE INDEX push_outbox_by_device ON push_outbox (service, device, id);
CREATE INDEX push_outbox_due ON push_outbox (kind, due_at) WHERE is_next = 1;
CREATE INDEX push_outbox_by_account ON push_outbox (account) WHERE is_next = 1;
CREATE TRIGGER push_outbox_next AFTER DELETE ON push_outbox WHEN old.is_next = 1 BEGIN
  UPDATE push_outbox SET is_next = 1
  WHERE id = (
    SELECT min(id) FROM push_outbox WHERE service = old.service AND device = old.device);
END;
CREATE INDEX apptimist_users_by_neglect ON apptimist_users (made_at)
  WHERE kind = 0 AND seen_at = 0;
CREATE INDEX apptimist_users_by_name ON apptimist_users (search_name)
  WHERE search_name IS NOT NULL;
CREATE INDEX apptimist_users_by_uid ON apptimist_users (uid) WHERE uid IS NOT NULL;
CREATE INDEX apptimist_users_by_author ON apptimist_users (author)
  WHERE author IS NOT NULL;
CREATE INDEX apptimist_contacts_by_age ON apptimist_contacts (owner, added_at);
CREATE INDEX apptimist_vouchers_by_site ON apptimist_vouchers (subject, site);
CREATE INDEX apptimist_vouchers_by_subject ON apptimist_vouchers (subject, id, voucher);
CREATE INDEX apptimist_files_by_directory ON apptimist_files (directory, size);
CREATE INDEX apptimist_ephemeral_keys_by_end ON apptimist_ephemeral_keys (expires_at);
CREATE INDEX apptimist_invitations_by_end ON apptimist_invitations (expires_at);
CREATE INDEX apptimist_links_by_network ON apptimist_links (network, slot);
CREATE INDEX apptimist_links_by_site ON apptimist_links (site, network, expires);
CREATE INDEX apptimist_links_by_end ON apptimist_links (expires);
CREATE INDEX apptimist_entries_by_run
  ON apptimist_entries (owner, sender, position, begins_run) WHERE begins_run = 1;
CREATE INDEX apptimist_shares_by_entries ON apptimist_shares (owner, entries DESC, oldest);
CREATE INDEX apptimist_shares_by_bytes ON apptimist_shares (owner, bytes DESC, oldest);
CREATE INDEX apptimist_ephemeral_keys_by_owner
  ON apptimist_ephemeral_keys (owner, expires_at) WHERE owner IS NOT NULL;
CREATE INDEX apptimist_vouchers_by_voucher ON apptimist_vouchers (voucher);
CREATE INDEX apptimist_devices_by_use ON apptimist_devices (owner, used);
CREATE INDEX apptimist_addresses_by_address ON apptimist_addresses (kind, address);
CREATE INDEX apptimist_addresses_by_age ON apptimist_addresses (noted_at);
CREATE TRIGGER apptimist_addresses_gone AFTER DELETE ON apptimist_addresses BEGIN
  DELETE FROM push_outbox
  WHERE service = 'apptimist' AND device = old.outbox;
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
CREATE INDEX apptimist_gates_by_due ON apptimist_gates (due_at);
CREATE INDEX apptimist_gates_by_author ON apptimist_gates (author);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('push_outbox',1);
COMMIT;
