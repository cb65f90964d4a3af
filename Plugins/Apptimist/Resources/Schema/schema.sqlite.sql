-- The tables of Apptimist. Names and types mean the same in PostgreSQL, where "user" is whoever is connected, and text holds
-- no NUL. Times are milliseconds since 1970.

-- The sites that have made accounts: networks as large as one owner gets for nothing. The first one stands for no address.
CREATE TABLE apptimist_sites (
  id INTEGER PRIMARY KEY,
  site TEXT NOT NULL UNIQUE
) STRICT;
INSERT INTO apptimist_sites (id, site) VALUES (1, '');
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
-- Accounts that were not used after the day on which they were made, by age.
CREATE INDEX apptimist_users_by_neglect ON apptimist_users (made_at)
  WHERE kind = 0 AND seen_at = 0;
CREATE INDEX apptimist_users_by_name ON apptimist_users (search_name)
  WHERE search_name IS NOT NULL;
CREATE INDEX apptimist_users_by_uid ON apptimist_users (uid) WHERE uid IS NOT NULL;
CREATE INDEX apptimist_users_by_author ON apptimist_users (author)
  WHERE author IS NOT NULL;
-- One for each user: the sums of its queue, and the last position that was given away.
CREATE TABLE apptimist_queues (
  owner INTEGER PRIMARY KEY REFERENCES apptimist_users,
  last_position INTEGER NOT NULL DEFAULT 0,
  entries INTEGER NOT NULL DEFAULT 0,
  bytes INTEGER NOT NULL DEFAULT 0,
  -- How many rows apptimist_dropped has for it.
  dropped INTEGER NOT NULL DEFAULT 0
) STRICT;
-- The messages whose entry is gone, so that the oldest can be forgotten.
CREATE TABLE apptimist_dropped (
  owner INTEGER NOT NULL,
  position INTEGER NOT NULL,
  message_id BLOB NOT NULL,
  PRIMARY KEY (owner, position)
) STRICT, WITHOUT ROWID;
-- Those to whom a user has written, or for whom the user vouches: the newest ones.
CREATE TABLE apptimist_contacts (
  owner INTEGER NOT NULL,
  contact INTEGER NOT NULL,
  added_at INTEGER NOT NULL,
  PRIMARY KEY (owner, contact)
) STRICT, WITHOUT ROWID;
CREATE INDEX apptimist_contacts_by_age ON apptimist_contacts (owner, added_at);
-- What each sender holds of a queue: a contact of the owner, by the account's number, or all strangers of a site together, by
-- the site's number below zero.
CREATE TABLE apptimist_shares (
  owner INTEGER NOT NULL,
  sender INTEGER NOT NULL,
  entries INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  oldest INTEGER NOT NULL,
  PRIMARY KEY (owner, sender)
) STRICT, WITHOUT ROWID;
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
CREATE INDEX apptimist_vouchers_by_site ON apptimist_vouchers (subject, site);
CREATE INDEX apptimist_vouchers_by_subject ON apptimist_vouchers (subject, id, voucher);
-- The content comes last: to ask for the size must not read it.
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
  expires_at INTEGER NOT NULL,
  -- The user who has logged in with the key, or NULL if it was used before that was noted.
  owner INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX apptimist_ephemeral_keys_by_end ON apptimist_ephemeral_keys (expires_at);
CREATE TABLE apptimist_invitations (
  hash BLOB NOT NULL PRIMARY KEY,
  -- The only account that it is for, or NULL for any.
  uid BLOB,
  uses INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX apptimist_invitations_by_end ON apptimist_invitations (expires_at);
-- A message is written down when it comes, once for all who get it. A new one gets a number above all that are there
-- and not before the one in apptimist_settled.
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
-- One row: all recipients of the contents before this one have them in their queues. Those of later ones have them if
-- their queues have got that far.
CREATE TABLE apptimist_settled (before INTEGER NOT NULL) STRICT;
INSERT INTO apptimist_settled VALUES (1);
-- The queues: small rows in the order of the stream, apart from what may be large.
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
-- The messages that are or were in a queue, by the first 16 bytes of their identifiers: nobody can make a message that
-- shares them with one of somebody else.
CREATE TABLE apptimist_message_ids (
  owner INTEGER NOT NULL,
  message_id BLOB NOT NULL,
  position INTEGER NOT NULL,
  is_truncated INTEGER NOT NULL DEFAULT 0,
  -- The position at which the stream says that the message was truncated.
  truncated_at INTEGER,
  PRIMARY KEY (owner, message_id)
) STRICT, WITHOUT ROWID;
-- With the column that it selects by, so that SQLite uses it without being told.
CREATE INDEX apptimist_entries_by_run
  ON apptimist_entries (owner, sender, position, begins_run) WHERE begins_run = 1;
CREATE INDEX apptimist_shares_by_entries ON apptimist_shares (owner, entries DESC, oldest);
CREATE INDEX apptimist_shares_by_bytes ON apptimist_shares (owner, bytes DESC, oldest);
CREATE INDEX apptimist_ephemeral_keys_by_owner
  ON apptimist_ephemeral_keys (owner, expires_at) WHERE owner IS NOT NULL;
CREATE INDEX apptimist_vouchers_by_voucher ON apptimist_vouchers (voucher);
-- The positions that devices have acknowledged.
CREATE TABLE apptimist_devices (
  owner INTEGER NOT NULL,
  device BLOB NOT NULL,
  position INTEGER NOT NULL,
  -- Ascends with each use of any of the user's devices.
  used INTEGER NOT NULL,
  PRIMARY KEY (owner, device)
) STRICT, WITHOUT ROWID;
CREATE INDEX apptimist_devices_by_use ON apptimist_devices (owner, used);
-- What two devices of a user leave for each other: for ten minutes, and until it is read.
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
-- What makes room or is counted is found without reading the contents.
CREATE INDEX apptimist_links_by_network ON apptimist_links (network, slot);
CREATE INDEX apptimist_links_by_site ON apptimist_links (site, network, expires);
CREATE INDEX apptimist_links_by_end ON apptimist_links (expires);
-- The push addresses of devices, and when they were woken.
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
CREATE INDEX apptimist_addresses_by_address ON apptimist_addresses (kind, address);
CREATE INDEX apptimist_addresses_by_age ON apptimist_addresses (noted_at);
CREATE TRIGGER apptimist_addresses_gone AFTER DELETE ON apptimist_addresses BEGIN
  DELETE FROM push_outbox WHERE service = 'apptimist' AND device = old.outbox;
END;
-- An address has four devices.
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
-- The open sessions of devices with an address.
CREATE TABLE apptimist_sessions (
  owner INTEGER NOT NULL,
  node INTEGER NOT NULL,
  session INTEGER NOT NULL,
  device BLOB,
  PRIMARY KEY (node, session)
) STRICT;
CREATE INDEX apptimist_sessions_by_owner ON apptimist_sessions (owner, device);
-- What decides about a wake: whether one waits, and whether a session of the device is open.
CREATE VIEW apptimist_sleepers AS
SELECT a.*,
  EXISTS (
    SELECT 1 FROM push_outbox o
    WHERE o.service = 'apptimist' AND o.device = a.outbox AND o.lease_owner IS NULL) AS is_waiting,
  EXISTS (
    SELECT 1 FROM apptimist_sessions s
    WHERE s.owner = a.owner AND s.device = a.device) AS is_open
FROM apptimist_addresses a;
-- The forums that ask for a token, and the moment from which their readers are checked again. Many nodes share the work.
CREATE TABLE apptimist_gates (
  forum INTEGER PRIMARY KEY REFERENCES apptimist_users,
  author INTEGER NOT NULL,
  due_at INTEGER NOT NULL
) STRICT;
CREATE INDEX apptimist_gates_by_due ON apptimist_gates (due_at);
CREATE INDEX apptimist_gates_by_author ON apptimist_gates (author);
-- What a disabled account is found by, until it is enabled again.
CREATE TABLE apptimist_disabled (
  account INTEGER NOT NULL PRIMARY KEY REFERENCES apptimist_users,
  search_name BLOB,
  uid BLOB,
  disabled_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
