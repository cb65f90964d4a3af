-- What msgr kept after its migration 1, as of commit 8e338212.
BEGIN TRANSACTION;
CREATE TABLE msgr_acquaintances (
  username TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
  other TEXT NOT NULL,
  -- The first time.
  written_at INTEGER NOT NULL,
  PRIMARY KEY (username, other)
) STRICT, WITHOUT ROWID;
INSERT INTO "msgr_acquaintances" VALUES('x','x',1);
CREATE TABLE msgr_applications (
  username TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
  sender TEXT NOT NULL,
  -- The name that they show; empty for the sender's own.
  name TEXT NOT NULL,
  description TEXT NOT NULL,
  default_priority INTEGER NOT NULL,
  PRIMARY KEY (username, sender)
) STRICT;
INSERT INTO "msgr_applications" VALUES('x','x','x','x',1);
CREATE TABLE msgr_barred_topics (
  topic TEXT NOT NULL PRIMARY KEY,
  -- Null until a node has seen it.
  barred_at INTEGER
) STRICT;
INSERT INTO "msgr_barred_topics" VALUES('x',NULL);
CREATE TABLE msgr_blocks (
  username TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
  blocked TEXT NOT NULL,
  PRIMARY KEY (username, blocked)
) STRICT, WITHOUT ROWID;
INSERT INTO "msgr_blocks" VALUES('x','x');
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
INSERT INTO "msgr_client_ids" VALUES('x','x',1,X'78',1,NULL,1);
CREATE TABLE msgr_contacts (
  username TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
  friend TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
  PRIMARY KEY (username, friend)
) STRICT, WITHOUT ROWID;
INSERT INTO "msgr_contacts" VALUES('x','x');
CREATE TABLE msgr_devices (
  device_id TEXT NOT NULL PRIMARY KEY,
  username TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
  bound_at INTEGER NOT NULL,
  -- A browser's subscription at a push service.
  endpoint TEXT,
  p256dh BLOB,
  auth BLOB,
  is_declarative INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
INSERT INTO "msgr_devices" VALUES('x','x',1,NULL,NULL,NULL,0);
CREATE TABLE msgr_invitations (
  -- SHA-256 of the token.
  hash BLOB NOT NULL PRIMARY KEY,
  uses INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "msgr_invitations" VALUES(X'78',1,1);
CREATE TABLE msgr_messages (
  recipient TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
  id INTEGER NOT NULL,
  sender TEXT NOT NULL,
  text TEXT NOT NULL,
  sent_at INTEGER NOT NULL,
  is_add_request INTEGER NOT NULL,
  -- A message that was read counts as unread no more, though others before it may.
  is_read INTEGER NOT NULL DEFAULT 0,
  -- Title, priority and whatever else a published message has, as JSON.
  parts TEXT,
  -- Of a message that Gotify's clients see: its number, which rises and is used once.
  number INTEGER,
  -- The topic that it came by, and its place there.
  topic TEXT,
  topic_entry INTEGER,
  PRIMARY KEY (recipient, id)
) STRICT;
INSERT INTO "msgr_messages" VALUES('x',1,'x','x',1,1,0,NULL,NULL,NULL,NULL);
CREATE TABLE msgr_publications (
  publisher BLOB NOT NULL REFERENCES msgr_publishers ON DELETE CASCADE,
  client_id TEXT NOT NULL,
  -- SHA-256 of recipients and content.
  content BLOB NOT NULL,
  answer BLOB NOT NULL,
  sent_at INTEGER NOT NULL,
  PRIMARY KEY (publisher, client_id)
) STRICT;
INSERT INTO "msgr_publications" VALUES(X'78','x',X'78',X'78',1);
CREATE TABLE msgr_publisher_aliases (
  hash BLOB NOT NULL PRIMARY KEY,
  publisher BLOB NOT NULL REFERENCES msgr_publishers ON DELETE CASCADE,
  client BLOB NOT NULL REFERENCES msgr_tokens ON DELETE CASCADE
) STRICT;
INSERT INTO "msgr_publisher_aliases" VALUES(X'78',X'78',X'78');
CREATE TABLE msgr_publisher_recipients (
  hash BLOB NOT NULL REFERENCES msgr_publishers ON DELETE CASCADE,
  recipient TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
  PRIMARY KEY (hash, recipient)
) STRICT, WITHOUT ROWID;
INSERT INTO "msgr_publisher_recipients" VALUES(X'78','x');
CREATE TABLE msgr_publishers (
  hash BLOB NOT NULL PRIMARY KEY,
  username TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
  name TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  used_at INTEGER NOT NULL,
  -- The moment at which it ends, if it does.
  expires_at INTEGER,
  -- The topics that it may write to, separated by blanks; null for those of its owner.
  topics TEXT,
  -- True if it may read these as well.
  reads INTEGER NOT NULL DEFAULT 0,
  UNIQUE (username, name)
) STRICT, WITHOUT ROWID;
INSERT INTO "msgr_publishers" VALUES(X'78','x','x',1,1,NULL,NULL,0);
CREATE TABLE msgr_sent (
  sender TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
  id INTEGER NOT NULL,
  recipient TEXT NOT NULL,
  text TEXT NOT NULL,
  sent_at INTEGER NOT NULL,
  client_id TEXT,
  -- The device that has sent it, whose streams don't bring it, or null if the sender gave a password.
  device_id TEXT,
  PRIMARY KEY (sender, id)
) STRICT;
INSERT INTO "msgr_sent" VALUES('x',1,'x','x',1,NULL,NULL);
CREATE TABLE msgr_tokens (
  hash BLOB NOT NULL PRIMARY KEY,
  device_id TEXT NOT NULL UNIQUE REFERENCES msgr_devices ON DELETE CASCADE,
  username TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  used_at INTEGER NOT NULL,
  -- The user's name for the device, empty if none was given.
  device_name TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "msgr_tokens" VALUES(X'78','x','x',1,1,'x');
CREATE TABLE msgr_topic_access (
  topic TEXT NOT NULL REFERENCES msgr_topics ON DELETE CASCADE,
  username TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
  -- As msgr_topics.everyone.
  level INTEGER NOT NULL,
  PRIMARY KEY (topic, username)
) STRICT;
INSERT INTO "msgr_topic_access" VALUES('x','x',1);
CREATE TABLE msgr_topic_copying (
  entry INTEGER NOT NULL PRIMARY KEY,
  topic TEXT NOT NULL REFERENCES msgr_topics ON DELETE CASCADE,
  started_at INTEGER NOT NULL,
  -- The last one, by name, who has a copy.
  username TEXT NOT NULL
) STRICT;
INSERT INTO "msgr_topic_copying" VALUES(1,'x',1,'x');
CREATE TABLE msgr_topic_entries (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  topic TEXT NOT NULL REFERENCES msgr_topics ON DELETE CASCADE,
  -- 12 letters and digits.
  id TEXT NOT NULL UNIQUE,
  -- 0 a message, 1 the deletion of a sequence, 2 its being read.
  event INTEGER NOT NULL,
  time INTEGER NOT NULL,
  stored_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  -- True for one that open streams alone get.
  is_transient INTEGER NOT NULL,
  sequence TEXT NOT NULL,
  text TEXT NOT NULL,
  -- Title, priority and whatever else the message has, as JSON.
  parts TEXT,
  -- True for bytes that are no text, which the text has in base64.
  is_base64 INTEGER NOT NULL
) STRICT;
INSERT INTO "msgr_topic_entries" VALUES(1,'x','x',1,1,1,1,1,'x','x',NULL,1);
CREATE TABLE msgr_topic_file_pieces (
  name TEXT NOT NULL REFERENCES msgr_topic_files ON DELETE CASCADE,
  number INTEGER NOT NULL,
  content BLOB NOT NULL,
  PRIMARY KEY (name, number)
) STRICT;
INSERT INTO "msgr_topic_file_pieces" VALUES('x',1,X'78');
CREATE TABLE msgr_topic_files (
  -- 32 letters and digits.
  name TEXT NOT NULL PRIMARY KEY,
  -- The entry or waiting message whose file it is; null while it is being received, and for a message to inboxes.
  entry TEXT,
  -- Who uploaded it: an account, or without one a network in its site.
  account TEXT REFERENCES msgr_users ON DELETE CASCADE,
  network TEXT,
  site TEXT,
  file_name TEXT NOT NULL,
  type TEXT NOT NULL,
  size INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  -- False while it is being received.
  is_whole INTEGER NOT NULL
) STRICT;
INSERT INTO "msgr_topic_files" VALUES('x',NULL,NULL,NULL,NULL,'x','x',1,1,1,1);
CREATE TABLE msgr_topic_files_sums (
  -- The name of the account behind an `a`, or the network behind an `n`.
  owner TEXT NOT NULL PRIMARY KEY,
  account TEXT REFERENCES msgr_users ON DELETE CASCADE,
  site TEXT,
  bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "msgr_topic_files_sums" VALUES('n',NULL,NULL,1);
CREATE TABLE msgr_topic_removals (
  entry INTEGER NOT NULL PRIMARY KEY,
  topic TEXT NOT NULL
) STRICT;
INSERT INTO "msgr_topic_removals" VALUES(1,'x');
CREATE TABLE msgr_topic_subscriptions (
  topic TEXT NOT NULL REFERENCES msgr_topics ON DELETE CASCADE,
  username TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
  is_pushed INTEGER NOT NULL,
  PRIMARY KEY (topic, username)
) STRICT;
INSERT INTO "msgr_topic_subscriptions" VALUES('x','x',1);
CREATE TABLE msgr_topic_waiting (
  id TEXT NOT NULL PRIMARY KEY,
  topic TEXT NOT NULL REFERENCES msgr_topics ON DELETE CASCADE,
  due_at INTEGER NOT NULL,
  -- Who published it: an account, or without one a network; and the site of either, null for an account that the operator made.
  account TEXT REFERENCES msgr_users ON DELETE CASCADE,
  network TEXT,
  site TEXT,
  is_transient INTEGER NOT NULL,
  sequence TEXT NOT NULL,
  text TEXT NOT NULL,
  parts TEXT
) STRICT;
INSERT INTO "msgr_topic_waiting" VALUES('x','x',1,NULL,NULL,NULL,1,'x','x',NULL);
CREATE TABLE msgr_topic_wakes (
  id TEXT NOT NULL PRIMARY KEY,
  topic TEXT NOT NULL REFERENCES msgr_topics ON DELETE CASCADE,
  created_at INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  tries INTEGER NOT NULL
) STRICT;
INSERT INTO "msgr_topic_wakes" VALUES('x','x',1,1,1);
CREATE TABLE msgr_topics (
  topic TEXT NOT NULL PRIMARY KEY,
  -- Null for a topic that a request without an account has made.
  owner TEXT REFERENCES msgr_users ON DELETE CASCADE,
  -- What everyone may do: 0 nothing, 1 read, 2 write, 3 both.
  everyone INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  used_at INTEGER NOT NULL,
  -- The last time that somebody read it or subscribed to it.
  subscribed_at INTEGER,
  -- The network that made a topic of nobody's, and its site.
  network TEXT,
  site TEXT,
  -- The number of the last entry, be it still there or not.
  last_number INTEGER NOT NULL DEFAULT 0,
  entries INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO "msgr_topics" VALUES('x',NULL,1,1,1,NULL,NULL,NULL,0,0);
CREATE TABLE msgr_users (
  username TEXT NOT NULL PRIMARY KEY,
  -- Argon2id, as libsodium writes it; empty for an account that only wallets log in to.
  password TEXT NOT NULL,
  -- The password of an account that the operator has disabled, whose own is one that nobody can give; else null.
  disabled_password TEXT,
  created_at INTEGER NOT NULL,
  -- The site that made the account, or null if it was not made by a request over the network.
  site TEXT,
  -- The last identifier in the user's log, be its message still there or not.
  last_id INTEGER NOT NULL DEFAULT 0,
  -- The highest message that was asked past or streamed; what is newer counts as unread.
  seen_id INTEGER NOT NULL DEFAULT 0,
  messages INTEGER NOT NULL DEFAULT 0,
  unread INTEGER NOT NULL DEFAULT 0,
  -- The own copies.
  sent INTEGER NOT NULL DEFAULT 0,
  -- The messages that the user's clients have named.
  named INTEGER NOT NULL DEFAULT 0,
  -- The last number of a message in the inbox that Gotify's clients see.
  last_number INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
INSERT INTO "msgr_users" VALUES('x','x',NULL,1,NULL,0,0,0,0,0,0,0);
CREATE TABLE msgr_wallet_nonces (
  nonce TEXT NOT NULL PRIMARY KEY,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "msgr_wallet_nonces" VALUES('x',1);
CREATE TABLE msgr_wallets (
  address TEXT NOT NULL,
  chain INTEGER NOT NULL,
  username TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
  PRIMARY KEY (address, chain)
) STRICT, WITHOUT ROWID;
INSERT INTO "msgr_wallets" VALUES('x',1,'x');
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
INSERT INTO "store_migrations" VALUES('msgr',1,1700000000);
INSERT INTO "store_migrations" VALUES('push',1,1700000000);
CREATE TABLE store_topic_revision (
  id INTEGER PRIMARY KEY CHECK (id = 0),
  revision INTEGER NOT NULL
) STRICT;
INSERT INTO "store_topic_revision" VALUES(0,2);
CREATE INDEX push_outbox_by_device ON push_outbox (service, device, id);
CREATE INDEX push_outbox_due ON push_outbox (kind, due_at) WHERE is_next = 1;
CREATE INDEX push_outbox_by_account ON push_outbox (account) WHERE is_next = 1;
CREATE TRIGGER push_outbox_next AFTER DELETE ON push_outbox WHEN old.is_next = 1 BEGIN
  UPDATE push_outbox SET is_next = 1
  WHERE id = (
    SELECT min(id) FROM push_outbox WHERE service = old.service AND device = old.device);
END;
CREATE INDEX msgr_users_by_site ON msgr_users (site) WHERE site IS NOT NULL;
CREATE INDEX msgr_contacts_by_friend ON msgr_contacts (friend);
CREATE INDEX msgr_devices_by_user ON msgr_devices (username, bound_at);
CREATE INDEX msgr_devices_that_stream ON msgr_devices (username)
  WHERE substr(device_id, 1, 7) = 'stream:';
CREATE TRIGGER msgr_devices_pushes AFTER DELETE ON msgr_devices BEGIN
  DELETE FROM push_outbox WHERE service = 'msgr' AND device = CAST(old.device_id AS BLOB);
END;
CREATE INDEX msgr_tokens_by_use ON msgr_tokens (used_at);
CREATE INDEX msgr_messages_by_sender ON msgr_messages (recipient, sender, id);
CREATE INDEX msgr_messages_by_time ON msgr_messages (sent_at);
CREATE INDEX msgr_messages_by_number ON msgr_messages (recipient, number)
  WHERE number IS NOT NULL;
CREATE INDEX msgr_messages_by_topic ON msgr_messages (topic, topic_entry) WHERE topic IS NOT NULL;
CREATE TRIGGER msgr_messages_uncount AFTER DELETE ON msgr_messages BEGIN
  UPDATE msgr_users SET messages = messages - 1,
    unread = unread - (old.id > seen_id AND old.is_read = 0)
  WHERE username = old.recipient;
END;
CREATE INDEX msgr_sent_by_time ON msgr_sent (sent_at);
CREATE TRIGGER msgr_sent_uncount AFTER DELETE ON msgr_sent BEGIN
  UPDATE msgr_users SET sent = sent - 1 WHERE username = old.sender;
END;
CREATE INDEX msgr_client_ids_by_time ON msgr_client_ids (sent_at);
CREATE INDEX msgr_client_ids_by_number ON msgr_client_ids (sender, number);
CREATE INDEX msgr_wallets_by_user ON msgr_wallets (username);
CREATE INDEX msgr_wallet_nonces_by_time ON msgr_wallet_nonces (expires_at);
CREATE INDEX msgr_publisher_recipients_by_name ON msgr_publisher_recipients (recipient);
CREATE INDEX msgr_topics_by_owner ON msgr_topics (owner);
CREATE INDEX msgr_topics_by_network ON msgr_topics (network, created_at) WHERE owner IS NULL;
CREATE INDEX msgr_topics_by_site ON msgr_topics (site) WHERE owner IS NULL;
CREATE TRIGGER msgr_users_topics BEFORE DELETE ON msgr_users BEGIN
  INSERT OR IGNORE INTO msgr_barred_topics (topic) SELECT topic FROM msgr_topics WHERE owner = old.username;
END;
CREATE INDEX msgr_topic_access_by_user ON msgr_topic_access (username);
CREATE INDEX msgr_topic_subscriptions_by_user ON msgr_topic_subscriptions (username);
CREATE INDEX msgr_topic_entries_by_topic ON msgr_topic_entries (topic, number);
CREATE INDEX msgr_topic_entries_by_sequence ON msgr_topic_entries (topic, sequence);
CREATE INDEX msgr_topic_entries_by_end ON msgr_topic_entries (expires_at);
CREATE INDEX msgr_topic_copying_by_topic ON msgr_topic_copying (topic, entry);
CREATE VIEW msgr_inboxes AS SELECT m.* FROM msgr_messages m
WHERE (SELECT r.entry FROM msgr_topic_removals r WHERE r.entry = m.topic_entry) IS NULL;
CREATE INDEX msgr_topic_waiting_by_time ON msgr_topic_waiting (due_at);
CREATE INDEX msgr_topic_waiting_by_topic ON msgr_topic_waiting (topic);
CREATE INDEX msgr_topic_waiting_by_account ON msgr_topic_waiting (account);
CREATE INDEX msgr_topic_waiting_by_network ON msgr_topic_waiting (network);
CREATE INDEX msgr_topic_waiting_by_site ON msgr_topic_waiting (site);
CREATE INDEX msgr_topic_files_by_entry ON msgr_topic_files (entry);
CREATE INDEX msgr_topic_files_by_account ON msgr_topic_files (account);
CREATE INDEX msgr_topic_files_by_end ON msgr_topic_files (expires_at);
CREATE INDEX msgr_topic_files_sums_by_account ON msgr_topic_files_sums (account);
CREATE INDEX msgr_topic_files_sums_by_site ON msgr_topic_files_sums (site);
CREATE TRIGGER msgr_topic_files_added AFTER INSERT ON msgr_topic_files BEGIN
  INSERT INTO msgr_topic_files_sums
  VALUES (coalesce('a' || new.account, 'n' || new.network, 'n'), new.account, new.site, new.size)
  ON CONFLICT (owner) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER msgr_topic_files_resized AFTER UPDATE OF size ON msgr_topic_files BEGIN
  INSERT INTO msgr_topic_files_sums
  VALUES (
    coalesce('a' || new.account, 'n' || new.network, 'n'), new.account, new.site,
    new.size - old.size)
  ON CONFLICT (owner) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER msgr_topic_files_removed AFTER DELETE ON msgr_topic_files BEGIN
  UPDATE msgr_topic_files_sums SET bytes = bytes - old.size
  WHERE owner = coalesce('a' || old.account, 'n' || old.network, 'n');
  DELETE FROM msgr_topic_files_sums
  WHERE owner = coalesce('a' || old.account, 'n' || old.network, 'n') AND bytes <= 0;
END;
CREATE INDEX msgr_topic_wakes_by_time ON msgr_topic_wakes (due_at);
CREATE INDEX msgr_topic_wakes_by_topic ON msgr_topic_wakes (topic);
CREATE INDEX msgr_publisher_aliases_by_publisher ON msgr_publisher_aliases (publisher);
CREATE INDEX msgr_publisher_aliases_by_client ON msgr_publisher_aliases (client);
CREATE INDEX msgr_publications_by_time ON msgr_publications (sent_at);
CREATE TRIGGER msgr_topic_entries_deleted AFTER DELETE ON msgr_topic_entries BEGIN
  UPDATE msgr_topics SET entries = entries - 1 WHERE topic = old.topic;
  DELETE FROM msgr_topic_files WHERE entry = old.id;
END;
CREATE TRIGGER msgr_topic_access_added AFTER INSERT ON msgr_topic_access BEGIN
  UPDATE store_topic_revision SET revision = revision + 1;
END;
CREATE TRIGGER msgr_topic_access_changed AFTER UPDATE ON msgr_topic_access BEGIN
  UPDATE store_topic_revision SET revision = revision + 1;
END;
CREATE TRIGGER msgr_topic_access_removed AFTER DELETE ON msgr_topic_access BEGIN
  UPDATE store_topic_revision SET revision = revision + 1;
END;
CREATE TRIGGER msgr_topics_removed AFTER DELETE ON msgr_topics BEGIN
  UPDATE store_topic_revision SET revision = revision + 1;
END;
CREATE TRIGGER msgr_topics_revised AFTER UPDATE OF everyone, owner ON msgr_topics BEGIN
  UPDATE store_topic_revision SET revision = revision + 1;
END;
CREATE TRIGGER msgr_tokens_ended AFTER DELETE ON msgr_tokens BEGIN
  UPDATE store_topic_revision SET revision = revision + 1;
END;
CREATE TRIGGER msgr_publishers_ended AFTER DELETE ON msgr_publishers BEGIN
  UPDATE store_topic_revision SET revision = revision + 1;
END;
CREATE TRIGGER msgr_users_revised AFTER UPDATE OF password ON msgr_users BEGIN
  UPDATE store_topic_revision SET revision = revision + 1;
END;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('push_outbox',1);
INSERT INTO "sqlite_sequence" VALUES('msgr_topic_entries',1);
COMMIT;
