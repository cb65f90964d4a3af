-- The tables of version 0.1.0, with which the history of upgrades begins. Later steps change them.

CREATE TABLE msgr_users (
  username TEXT NOT NULL PRIMARY KEY,
  -- Argon2id, as libsodium writes it.
  password TEXT NOT NULL,
  -- The highest message that was asked past or streamed; what is newer counts as unread.
  seen_id INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  messages INTEGER NOT NULL DEFAULT 0,
  unread INTEGER NOT NULL DEFAULT 0,
  sent INTEGER NOT NULL DEFAULT 0,
  named INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
-- Who has added whom; two are friends if each has added the other.
CREATE TABLE msgr_contacts (
  username TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
  friend TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
  PRIMARY KEY (username, friend)
) STRICT, WITHOUT ROWID;
CREATE INDEX msgr_contacts_by_friend ON msgr_contacts (friend);
-- A block outlives the account that is blocked.
CREATE TABLE msgr_blocks (
  username TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
  blocked TEXT NOT NULL,
  PRIMARY KEY (username, blocked)
) STRICT, WITHOUT ROWID;
CREATE TABLE msgr_devices (
  device_id TEXT NOT NULL PRIMARY KEY,
  username TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
  bound_at INTEGER NOT NULL,
  endpoint TEXT,
  p256dh BLOB,
  auth BLOB,
  is_declarative INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX msgr_devices_by_user ON msgr_devices (username, bound_at);
-- One token a device.
CREATE TABLE msgr_tokens (
  hash BLOB NOT NULL PRIMARY KEY,
  device_id TEXT NOT NULL UNIQUE REFERENCES msgr_devices ON DELETE CASCADE,
  used_at INTEGER NOT NULL,
  username TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL DEFAULT 0,
  -- The user's name for the device, empty if none was given.
  device_name TEXT NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;
-- The inboxes. Messages of a deleted account stay in the inboxes of their recipients.
CREATE TABLE msgr_messages (
  id INTEGER NOT NULL PRIMARY KEY,
  recipient TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
  sender TEXT NOT NULL,
  text TEXT NOT NULL,
  sent_at INTEGER NOT NULL,
  is_add_request INTEGER NOT NULL,
  -- A message that was read counts as unread no more, though others before it may.
  is_read INTEGER NOT NULL DEFAULT 0,
  title TEXT,
  priority INTEGER,
  link TEXT
) STRICT;
CREATE INDEX msgr_messages_by_recipient ON msgr_messages (recipient, id);
CREATE INDEX msgr_messages_by_sender ON msgr_messages (recipient, sender, id);
CREATE INDEX msgr_messages_by_time ON msgr_messages (sent_at);
-- One row: the last identifier that was given away, be its message still there or not.
CREATE TABLE msgr_last_id (id INTEGER NOT NULL) STRICT;
INSERT INTO msgr_last_id VALUES (0);
CREATE TABLE push_outbox (
  -- Never used twice, so that a late result of a push never settles another one.
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
  lease_end INTEGER NOT NULL DEFAULT 0,
  title TEXT,
  priority INTEGER,
  link TEXT,
  is_web INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX push_outbox_by_device ON push_outbox (device_id, id);
CREATE TRIGGER push_outbox_next AFTER DELETE ON push_outbox WHEN old.is_next BEGIN
  UPDATE push_outbox SET is_next = 1
  WHERE id = (SELECT min(id) FROM push_outbox WHERE device_id = old.device_id);
END;
-- The push services, by URL and topic, that have taken a push. One of them that refuses a device does so for the
-- device's sake.
CREATE TABLE push_targets (target TEXT NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE INDEX msgr_tokens_by_use ON msgr_tokens (used_at);
CREATE INDEX msgr_devices_that_stream ON msgr_devices (username)
  WHERE substr(device_id, 1, 7) = 'stream:';
-- What users of devices that stream have sent, for their other devices.
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
CREATE INDEX push_outbox_due ON push_outbox (is_web, due_at) WHERE is_next;
