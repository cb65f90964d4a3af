-- The tables of version 0.1.0, with which the history of upgrades begins. Later steps change them.

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
  name TEXT NOT NULL,
  -- Whether a device has proved, in version 2, that it has the account's secret keys.
  is_proven INTEGER NOT NULL DEFAULT 0,
  -- Whether the account has no version 1 any more.
  is_closed INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX apptimist_users_by_name ON apptimist_users (search_name)
  WHERE search_name IS NOT NULL;
CREATE INDEX apptimist_users_by_uid ON apptimist_users (uid) WHERE uid IS NOT NULL;
CREATE INDEX apptimist_users_by_author ON apptimist_users (author)
  WHERE author IS NOT NULL;
-- One for each user: the sums of its queue, and the last position that was given away.
CREATE TABLE apptimist_queues (
  user INTEGER PRIMARY KEY REFERENCES apptimist_users,
  last_position INTEGER NOT NULL DEFAULT 0,
  entries INTEGER NOT NULL DEFAULT 0,
  bytes INTEGER NOT NULL DEFAULT 0,
  -- How many rows apptimist_dropped has for it.
  dropped INTEGER NOT NULL DEFAULT 0,
  -- The bytes of the files of a user and the user's forums.
  file_bytes INTEGER NOT NULL DEFAULT 0
) STRICT;
-- The messages whose entry is gone, so that the oldest can be forgotten.
CREATE TABLE apptimist_dropped (
  user INTEGER NOT NULL,
  position INTEGER NOT NULL,
  message_id BLOB NOT NULL,
  PRIMARY KEY (user, position)
) STRICT, WITHOUT ROWID;
-- What each sender holds of a queue.
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
  -- NULL if it was given in version 1, whose signature says less.
  signature BLOB,
  UNIQUE (subject, voucher)
) STRICT;
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
  user INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX apptimist_ephemeral_keys_by_end ON apptimist_ephemeral_keys (expires_at);
CREATE TABLE apptimist_invitations (
  hash BLOB NOT NULL PRIMARY KEY,
  -- The only account that it is for, or NULL for any.
  uid TEXT,
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
  -- Whether an entry may have another sender than the one before it. The next entry of a sender is the one right behind,
  -- or begins a run: so the index costs a row for each run only.
  begins_run INTEGER NOT NULL DEFAULT 1,
  PRIMARY KEY (user, position)
) STRICT, WITHOUT ROWID;
-- The messages that are or were in a queue, by the first 16 bytes of their identifiers: nobody can make a message that
-- shares them with one of somebody else.
CREATE TABLE apptimist_message_ids (
  user INTEGER NOT NULL,
  message_id BLOB NOT NULL,
  position INTEGER NOT NULL,
  is_truncated INTEGER NOT NULL DEFAULT 0,
  -- The position at which the stream says that the message was truncated.
  truncated_at INTEGER,
  PRIMARY KEY (user, message_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX apptimist_entries_by_run ON apptimist_entries (user, sender, position)
  WHERE begins_run = 1;
CREATE INDEX apptimist_shares_by_entries ON apptimist_shares (user, entries DESC, oldest);
CREATE INDEX apptimist_shares_by_bytes ON apptimist_shares (user, bytes DESC, oldest);
CREATE INDEX apptimist_ephemeral_keys_by_user
  ON apptimist_ephemeral_keys (user, expires_at) WHERE user IS NOT NULL;
CREATE INDEX apptimist_vouchers_by_voucher ON apptimist_vouchers (voucher);
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
