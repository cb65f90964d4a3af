-- The tables of Msgr. Times are milliseconds since 1970.

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

CREATE INDEX msgr_users_by_site ON msgr_users (site) WHERE site IS NOT NULL;

-- Who has added whom; two are friends if each has added the other.
CREATE TABLE msgr_contacts (
  username TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
  friend TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
  PRIMARY KEY (username, friend)
) STRICT, WITHOUT ROWID;
CREATE INDEX msgr_contacts_by_friend ON msgr_contacts (friend);
-- Whom a user has written to: those are no strangers in a full inbox.
CREATE TABLE msgr_acquaintances (
  username TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
  other TEXT NOT NULL,
  -- The first time.
  written_at INTEGER NOT NULL,
  PRIMARY KEY (username, other)
) STRICT, WITHOUT ROWID;
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
  -- A browser's subscription at a push service.
  endpoint TEXT,
  p256dh BLOB,
  auth BLOB,
  is_declarative INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX msgr_devices_by_user ON msgr_devices (username, bound_at);
CREATE INDEX msgr_devices_that_stream ON msgr_devices (username)
  WHERE substr(device_id, 1, 7) = 'stream:';
-- What waits for a device goes with it.
CREATE TRIGGER msgr_devices_pushes AFTER DELETE ON msgr_devices BEGIN
  DELETE FROM push_outbox WHERE service = 'msgr' AND device = CAST(old.device_id AS BLOB);
END;
-- One token a device.
CREATE TABLE msgr_tokens (
  hash BLOB NOT NULL PRIMARY KEY,
  device_id TEXT NOT NULL UNIQUE REFERENCES msgr_devices ON DELETE CASCADE,
  username TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  used_at INTEGER NOT NULL,
  -- The user's name for the device, empty if none was given.
  device_name TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX msgr_tokens_by_use ON msgr_tokens (used_at);

-- The inboxes. Messages of a deleted account stay in the inboxes of their recipients.
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

-- What users of devices that stream have sent, for their other devices.
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
CREATE INDEX msgr_sent_by_time ON msgr_sent (sent_at);
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

CREATE TABLE msgr_invitations (
  -- SHA-256 of the token.
  hash BLOB NOT NULL PRIMARY KEY,
  uses INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The accounts of chains by which users log in; addresses are in lower case.
CREATE TABLE msgr_wallets (
  address TEXT NOT NULL,
  chain INTEGER NOT NULL,
  username TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
  PRIMARY KEY (address, chain)
) STRICT, WITHOUT ROWID;
CREATE INDEX msgr_wallets_by_user ON msgr_wallets (username);
-- What was signed once is not accepted again while it would be good.
CREATE TABLE msgr_wallet_nonces (
  nonce TEXT NOT NULL PRIMARY KEY,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX msgr_wallet_nonces_by_time ON msgr_wallet_nonces (expires_at);

-- Tokens that can do nothing but publish.
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
CREATE TABLE msgr_publisher_recipients (
  hash BLOB NOT NULL REFERENCES msgr_publishers ON DELETE CASCADE,
  recipient TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
  PRIMARY KEY (hash, recipient)
) STRICT, WITHOUT ROWID;
CREATE INDEX msgr_publisher_recipients_by_name ON msgr_publisher_recipients (recipient);

-- Topics.

-- Named logs of messages.
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
CREATE INDEX msgr_topics_by_owner ON msgr_topics (owner);
CREATE INDEX msgr_topics_by_network ON msgr_topics (network, created_at) WHERE owner IS NULL;
CREATE INDEX msgr_topics_by_site ON msgr_topics (site) WHERE owner IS NULL;
-- The names of topics that went with their owners' accounts, which nobody may have for a while.
CREATE TABLE msgr_barred_topics (
  topic TEXT NOT NULL PRIMARY KEY,
  -- Null until a node has seen it.
  barred_at INTEGER
) STRICT;
CREATE TRIGGER msgr_users_topics BEFORE DELETE ON msgr_users BEGIN
  INSERT OR IGNORE INTO msgr_barred_topics (topic) SELECT topic FROM msgr_topics WHERE owner = old.username;
END;
CREATE TABLE msgr_topic_access (
  topic TEXT NOT NULL REFERENCES msgr_topics ON DELETE CASCADE,
  username TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
  -- As msgr_topics.everyone.
  level INTEGER NOT NULL,
  PRIMARY KEY (topic, username)
) STRICT;
CREATE INDEX msgr_topic_access_by_user ON msgr_topic_access (username);
-- Whose inboxes later messages come to.
CREATE TABLE msgr_topic_subscriptions (
  topic TEXT NOT NULL REFERENCES msgr_topics ON DELETE CASCADE,
  username TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
  is_pushed INTEGER NOT NULL,
  PRIMARY KEY (topic, username)
) STRICT;
CREATE INDEX msgr_topic_subscriptions_by_user ON msgr_topic_subscriptions (username);

-- The log of all topics; a number is used once, and rises in each topic.
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
CREATE INDEX msgr_topic_entries_by_topic ON msgr_topic_entries (topic, number);
CREATE INDEX msgr_topic_entries_by_sequence ON msgr_topic_entries (topic, sequence);
CREATE INDEX msgr_topic_entries_by_end ON msgr_topic_entries (expires_at);
-- The entries of which not all who have subscribed have their copies yet.
CREATE TABLE msgr_topic_copying (
  entry INTEGER NOT NULL PRIMARY KEY,
  topic TEXT NOT NULL REFERENCES msgr_topics ON DELETE CASCADE,
  started_at INTEGER NOT NULL,
  -- The last one, by name, who has a copy.
  username TEXT NOT NULL
) STRICT;
CREATE INDEX msgr_topic_copying_by_topic ON msgr_topic_copying (topic, entry);
-- The entries that were deleted or replaced and whose copies in inboxes, which nobody is shown any more, are being removed.
CREATE TABLE msgr_topic_removals (
  entry INTEGER NOT NULL PRIMARY KEY,
  topic TEXT NOT NULL
) STRICT;
-- The messages that are shown. Each is looked up among the removals by itself: as a join, which it would be with NOT EXISTS, all
-- removals might be read for each message.
CREATE VIEW msgr_inboxes AS SELECT m.* FROM msgr_messages m
WHERE (SELECT r.entry FROM msgr_topic_removals r WHERE r.entry = m.topic_entry) IS NULL;
-- Messages that wait for their time.
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
CREATE INDEX msgr_topic_waiting_by_time ON msgr_topic_waiting (due_at);
CREATE INDEX msgr_topic_waiting_by_topic ON msgr_topic_waiting (topic);
CREATE INDEX msgr_topic_waiting_by_account ON msgr_topic_waiting (account);
CREATE INDEX msgr_topic_waiting_by_network ON msgr_topic_waiting (network);
CREATE INDEX msgr_topic_waiting_by_site ON msgr_topic_waiting (site);

-- Files beside messages.
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
CREATE INDEX msgr_topic_files_by_entry ON msgr_topic_files (entry);
CREATE INDEX msgr_topic_files_by_account ON msgr_topic_files (account);
CREATE INDEX msgr_topic_files_by_end ON msgr_topic_files (expires_at);
-- The bytes that each account, or without one each network, has in files, so that no upload adds up all of them. The table comes
-- behind that of files, also by its name, as copies do.
CREATE TABLE msgr_topic_files_sums (
  -- The name of the account behind an `a`, or the network behind an `n`.
  owner TEXT NOT NULL PRIMARY KEY,
  account TEXT REFERENCES msgr_users ON DELETE CASCADE,
  site TEXT,
  bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
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
CREATE TABLE msgr_topic_file_pieces (
  name TEXT NOT NULL REFERENCES msgr_topic_files ON DELETE CASCADE,
  number INTEGER NOT NULL,
  content BLOB NOT NULL,
  PRIMARY KEY (name, number)
) STRICT;

-- What another server is to be told, so that it wakes iPhones.
CREATE TABLE msgr_topic_wakes (
  id TEXT NOT NULL PRIMARY KEY,
  topic TEXT NOT NULL REFERENCES msgr_topics ON DELETE CASCADE,
  created_at INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  tries INTEGER NOT NULL
) STRICT;
CREATE INDEX msgr_topic_wakes_by_time ON msgr_topic_wakes (due_at);
CREATE INDEX msgr_topic_wakes_by_topic ON msgr_topic_wakes (topic);

-- What the accounts' clients of Gotify's kind say of the senders of messages.
CREATE TABLE msgr_applications (
  username TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
  sender TEXT NOT NULL,
  -- The name that they show; empty for the sender's own.
  name TEXT NOT NULL,
  description TEXT NOT NULL,
  default_priority INTEGER NOT NULL,
  PRIMARY KEY (username, sender)
) STRICT;
-- Further tokens of a publisher, each made for a client that shows it, and gone with that client's.
CREATE TABLE msgr_publisher_aliases (
  hash BLOB NOT NULL PRIMARY KEY,
  publisher BLOB NOT NULL REFERENCES msgr_publishers ON DELETE CASCADE,
  client BLOB NOT NULL REFERENCES msgr_tokens ON DELETE CASCADE
) STRICT;
CREATE INDEX msgr_publisher_aliases_by_publisher ON msgr_publisher_aliases (publisher);
CREATE INDEX msgr_publisher_aliases_by_client ON msgr_publisher_aliases (client);
-- Publications that clients have named, so that a retry is known.
CREATE TABLE msgr_publications (
  publisher BLOB NOT NULL REFERENCES msgr_publishers ON DELETE CASCADE,
  client_id TEXT NOT NULL,
  -- SHA-256 of recipients and content.
  content BLOB NOT NULL,
  answer BLOB NOT NULL,
  sent_at INTEGER NOT NULL,
  PRIMARY KEY (publisher, client_id)
) STRICT;
CREATE INDEX msgr_publications_by_time ON msgr_publications (sent_at);

-- What counts entries, and takes an entry's file with it.
CREATE TRIGGER msgr_topic_entries_deleted AFTER DELETE ON msgr_topic_entries BEGIN
  UPDATE msgr_topics SET entries = entries - 1 WHERE topic = old.topic;
  DELETE FROM msgr_topic_files WHERE entry = old.id;
END;

-- Rises whenever somebody may have lost the right to read a topic, for the streams that are open.
CREATE TABLE store_topic_revision (
  id INTEGER PRIMARY KEY CHECK (id = 0),
  revision INTEGER NOT NULL
) STRICT;
INSERT INTO store_topic_revision VALUES (0, 1);
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
