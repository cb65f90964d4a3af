-- The tables of Msgr, as the schema for SQLite explains them.

-- Updated with each message: half-filled pages let that happen in place.
CREATE TABLE msgr_users (
  username TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  password TEXT COLLATE "C" NOT NULL,
  disabled_password TEXT COLLATE "C",
  created_at BIGINT NOT NULL,
  site TEXT COLLATE "C",
  last_id BIGINT NOT NULL DEFAULT 0,
  seen_id BIGINT NOT NULL DEFAULT 0,
  messages BIGINT NOT NULL DEFAULT 0,
  unread BIGINT NOT NULL DEFAULT 0,
  sent BIGINT NOT NULL DEFAULT 0,
  named BIGINT NOT NULL DEFAULT 0,
  last_number BIGINT NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

CREATE INDEX msgr_users_by_site ON msgr_users (site) WHERE site IS NOT NULL;

CREATE TABLE msgr_contacts (
  username TEXT COLLATE "C" NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
  friend TEXT COLLATE "C" NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
  PRIMARY KEY (username, friend)
);
CREATE INDEX msgr_contacts_by_friend ON msgr_contacts (friend);
CREATE TABLE msgr_acquaintances (
  username TEXT COLLATE "C" NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
  other TEXT COLLATE "C" NOT NULL,
  written_at BIGINT NOT NULL,
  PRIMARY KEY (username, other)
);
CREATE TABLE msgr_blocks (
  username TEXT COLLATE "C" NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
  blocked TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (username, blocked)
);

CREATE TABLE msgr_devices (
  device_id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  username TEXT COLLATE "C" NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
  bound_at BIGINT NOT NULL,
  endpoint TEXT COLLATE "C",
  p256dh BYTEA,
  auth BYTEA,
  is_declarative BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX msgr_devices_by_user ON msgr_devices (username, bound_at);
CREATE INDEX msgr_devices_that_stream ON msgr_devices (username)
  WHERE substr(device_id, 1, 7) = 'stream:';
CREATE FUNCTION msgr_devices_pushes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM push_outbox
  WHERE service = 'msgr' AND device = convert_to(old.device_id, 'UTF8');
  RETURN NULL;
END $$;
CREATE TRIGGER msgr_devices_pushes AFTER DELETE ON msgr_devices
  FOR EACH ROW EXECUTE FUNCTION msgr_devices_pushes();
CREATE TABLE msgr_tokens (
  hash BYTEA NOT NULL PRIMARY KEY,
  device_id TEXT COLLATE "C" NOT NULL UNIQUE REFERENCES msgr_devices ON DELETE CASCADE,
  username TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  used_at BIGINT NOT NULL,
  device_name TEXT COLLATE "C" NOT NULL
);
CREATE INDEX msgr_tokens_by_use ON msgr_tokens (used_at);

-- A recipient is a user without a constraint that says so, which would look the user up for each message once more:
-- whoever adds a message has just changed the user's row, and who deletes a user waits for that or fails by it.
CREATE TABLE msgr_messages (
  recipient TEXT COLLATE "C" NOT NULL,
  id BIGINT NOT NULL,
  sender TEXT COLLATE "C" NOT NULL,
  text TEXT COLLATE "C" NOT NULL,
  sent_at BIGINT NOT NULL,
  is_add_request BIGINT NOT NULL,
  is_read BIGINT NOT NULL DEFAULT 0,
  parts TEXT COLLATE "C",
  number BIGINT,
  topic TEXT COLLATE "C",
  topic_entry BIGINT,
  PRIMARY KEY (recipient, id)
);
CREATE INDEX msgr_messages_by_sender ON msgr_messages (recipient, sender, id);
CREATE INDEX msgr_messages_by_time ON msgr_messages (sent_at);
CREATE INDEX msgr_messages_by_number ON msgr_messages (recipient, number)
  WHERE number IS NOT NULL;
CREATE INDEX msgr_messages_by_topic ON msgr_messages (topic, topic_entry) WHERE topic IS NOT NULL;
CREATE FUNCTION msgr_messages_uncount() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE msgr_users SET messages = messages - 1,
    unread = unread - CASE WHEN old.id > seen_id AND old.is_read = 0 THEN 1 ELSE 0 END
  WHERE username = old.recipient;
  RETURN NULL;
END $$;
CREATE TRIGGER msgr_messages_uncount AFTER DELETE ON msgr_messages
  FOR EACH ROW EXECUTE FUNCTION msgr_messages_uncount();
CREATE FUNCTION msgr_messages_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM msgr_messages WHERE recipient = old.username;
  RETURN NULL;
END $$;
CREATE TRIGGER msgr_messages_delete AFTER DELETE ON msgr_users
  FOR EACH ROW EXECUTE FUNCTION msgr_messages_delete();

CREATE TABLE msgr_sent (
  sender TEXT COLLATE "C" NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
  id BIGINT NOT NULL,
  recipient TEXT COLLATE "C" NOT NULL,
  text TEXT COLLATE "C" NOT NULL,
  sent_at BIGINT NOT NULL,
  client_id TEXT COLLATE "C",
  device_id TEXT COLLATE "C",
  PRIMARY KEY (sender, id)
);
CREATE INDEX msgr_sent_by_time ON msgr_sent (sent_at);
CREATE FUNCTION msgr_sent_uncount() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE msgr_users SET sent = sent - 1 WHERE username = old.sender;
  RETURN NULL;
END $$;
CREATE TRIGGER msgr_sent_uncount AFTER DELETE ON msgr_sent
  FOR EACH ROW EXECUTE FUNCTION msgr_sent_uncount();

CREATE TABLE msgr_client_ids (
  sender TEXT COLLATE "C" NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
  client_id TEXT COLLATE "C" NOT NULL,
  number BIGINT NOT NULL,
  content BYTEA NOT NULL,
  id BIGINT NOT NULL,
  own_id BIGINT,
  sent_at BIGINT NOT NULL,
  PRIMARY KEY (sender, client_id)
);
CREATE INDEX msgr_client_ids_by_time ON msgr_client_ids (sent_at);
CREATE INDEX msgr_client_ids_by_number ON msgr_client_ids (sender, number);

-- The open streams of all nodes.
CREATE TABLE msgr_streams (
  node BIGINT NOT NULL REFERENCES store_nodes ON DELETE CASCADE,
  number BIGINT NOT NULL,
  device_id TEXT COLLATE "C" NOT NULL REFERENCES msgr_devices ON DELETE CASCADE,
  start BIGINT NOT NULL,
  PRIMARY KEY (node, number)
);
CREATE INDEX msgr_streams_by_device ON msgr_streams (device_id);

CREATE TABLE msgr_invitations (
  hash BYTEA NOT NULL PRIMARY KEY,
  uses BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);

CREATE TABLE msgr_wallets (
  address TEXT COLLATE "C" NOT NULL,
  chain BIGINT NOT NULL,
  username TEXT COLLATE "C" NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
  PRIMARY KEY (address, chain)
);
CREATE INDEX msgr_wallets_by_user ON msgr_wallets (username);
CREATE TABLE msgr_wallet_nonces (
  nonce TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  expires_at BIGINT NOT NULL
);
CREATE INDEX msgr_wallet_nonces_by_time ON msgr_wallet_nonces (expires_at);

CREATE TABLE msgr_publishers (
  hash BYTEA NOT NULL PRIMARY KEY,
  username TEXT COLLATE "C" NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
  name TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL,
  used_at BIGINT NOT NULL,
  -- The moment at which it ends, if it does.
  expires_at BIGINT,
  -- The topics that it may write to, separated by blanks; null for those of its owner.
  topics TEXT,
  -- True if it may read these as well.
  reads BIGINT NOT NULL DEFAULT 0,
  UNIQUE (username, name)
);
CREATE TABLE msgr_publisher_recipients (
  hash BYTEA NOT NULL REFERENCES msgr_publishers ON DELETE CASCADE,
  recipient TEXT COLLATE "C" NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
  PRIMARY KEY (hash, recipient)
);
CREATE INDEX msgr_publisher_recipients_by_name ON msgr_publisher_recipients (recipient);

-- Topics.

-- Named logs of messages.
CREATE TABLE msgr_topics (
  topic TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  -- Null for a topic that a request without an account has made.
  owner TEXT COLLATE "C" REFERENCES msgr_users ON DELETE CASCADE,
  -- What everyone may do: 0 nothing, 1 read, 2 write, 3 both.
  everyone BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  used_at BIGINT NOT NULL,
  -- The last time that somebody read it or subscribed to it.
  subscribed_at BIGINT,
  -- The network that made a topic of nobody's, and its site.
  network TEXT,
  site TEXT COLLATE "C",
  -- The number of the last entry, be it still there or not.
  last_number BIGINT NOT NULL DEFAULT 0,
  entries BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX msgr_topics_by_owner ON msgr_topics (owner);
CREATE INDEX msgr_topics_by_network ON msgr_topics (network, created_at) WHERE owner IS NULL;
CREATE INDEX msgr_topics_by_site ON msgr_topics (site) WHERE owner IS NULL;
-- The names of topics that went with their owners' accounts, which nobody may have for a while.
CREATE TABLE msgr_barred_topics (
  topic TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  -- Null until a node has seen it.
  barred_at BIGINT
);
CREATE FUNCTION msgr_bar_topics() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO msgr_barred_topics (topic) SELECT topic FROM msgr_topics WHERE owner = old.username
  ON CONFLICT DO NOTHING;
  RETURN old;
END $$;
CREATE TRIGGER msgr_users_topics BEFORE DELETE ON msgr_users
  FOR EACH ROW EXECUTE FUNCTION msgr_bar_topics();
CREATE TABLE msgr_topic_access (
  topic TEXT COLLATE "C" NOT NULL REFERENCES msgr_topics ON DELETE CASCADE,
  username TEXT COLLATE "C" NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
  -- As msgr_topics.everyone.
  level BIGINT NOT NULL,
  PRIMARY KEY (topic, username)
);
CREATE INDEX msgr_topic_access_by_user ON msgr_topic_access (username);
-- Whose inboxes later messages come to.
CREATE TABLE msgr_topic_subscriptions (
  topic TEXT COLLATE "C" NOT NULL REFERENCES msgr_topics ON DELETE CASCADE,
  username TEXT COLLATE "C" NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
  is_pushed BIGINT NOT NULL,
  PRIMARY KEY (topic, username)
);
CREATE INDEX msgr_topic_subscriptions_by_user ON msgr_topic_subscriptions (username);

-- The log of all topics; a number is used once, and rises in each topic.
CREATE TABLE msgr_topic_entries (
  number BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  topic TEXT COLLATE "C" NOT NULL REFERENCES msgr_topics ON DELETE CASCADE,
  -- 12 letters and digits.
  id TEXT COLLATE "C" NOT NULL UNIQUE,
  -- 0 a message, 1 the deletion of a sequence, 2 its being read.
  event BIGINT NOT NULL,
  time BIGINT NOT NULL,
  stored_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  -- True for one that open streams alone get.
  is_transient BIGINT NOT NULL,
  sequence TEXT COLLATE "C" NOT NULL,
  text TEXT NOT NULL,
  -- Title, priority and whatever else the message has, as JSON.
  parts TEXT,
  -- True for bytes that are no text, which the text has in base64.
  is_base64 BIGINT NOT NULL
);
CREATE INDEX msgr_topic_entries_by_topic ON msgr_topic_entries (topic, number);
-- A statement that orders by the sum can't walk the primary key instead.
CREATE INDEX msgr_topic_entries_in_order ON msgr_topic_entries (topic, (number + 0));
CREATE INDEX msgr_topic_entries_by_sequence ON msgr_topic_entries (topic, sequence);
CREATE INDEX msgr_topic_entries_by_end ON msgr_topic_entries (expires_at);
-- The entries of which not all who have subscribed have their copies yet.
CREATE TABLE msgr_topic_copying (
  entry BIGINT NOT NULL PRIMARY KEY,
  topic TEXT COLLATE "C" NOT NULL REFERENCES msgr_topics ON DELETE CASCADE,
  started_at BIGINT NOT NULL,
  username TEXT COLLATE "C" NOT NULL
);
CREATE INDEX msgr_topic_copying_by_topic ON msgr_topic_copying (topic, entry);
-- The entries that were deleted or replaced and whose copies in inboxes, which nobody is shown any more, are being removed.
CREATE TABLE msgr_topic_removals (
  entry BIGINT NOT NULL PRIMARY KEY,
  topic TEXT COLLATE "C" NOT NULL
);
-- The messages that are shown. Each is looked up among the removals by itself: as a join, which it would be with NOT EXISTS, all
-- removals might be read for each message.
CREATE VIEW msgr_inboxes AS SELECT m.* FROM msgr_messages m
WHERE (SELECT r.entry FROM msgr_topic_removals r WHERE r.entry = m.topic_entry) IS NULL;
-- Messages that wait for their time.
CREATE TABLE msgr_topic_waiting (
  id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  topic TEXT COLLATE "C" NOT NULL REFERENCES msgr_topics ON DELETE CASCADE,
  due_at BIGINT NOT NULL,
  -- Who published it: an account, or without one a network; and the site of either, null for an account that the operator made.
  account TEXT COLLATE "C" REFERENCES msgr_users ON DELETE CASCADE,
  network TEXT COLLATE "C",
  site TEXT COLLATE "C",
  is_transient BIGINT NOT NULL,
  sequence TEXT COLLATE "C" NOT NULL,
  text TEXT NOT NULL,
  parts TEXT
);
CREATE INDEX msgr_topic_waiting_by_time ON msgr_topic_waiting (due_at);
CREATE INDEX msgr_topic_waiting_by_topic ON msgr_topic_waiting (topic);
CREATE INDEX msgr_topic_waiting_by_account ON msgr_topic_waiting (account);
CREATE INDEX msgr_topic_waiting_by_network ON msgr_topic_waiting (network);
CREATE INDEX msgr_topic_waiting_by_site ON msgr_topic_waiting (site);

-- Files beside messages.
CREATE TABLE msgr_topic_files (
  -- 32 letters and digits.
  name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  -- The entry or waiting message whose file it is; null while it is being received, and for a message to inboxes.
  entry TEXT COLLATE "C",
  -- Who uploaded it: an account, or without one a network in its site.
  account TEXT COLLATE "C" REFERENCES msgr_users ON DELETE CASCADE,
  network TEXT,
  site TEXT COLLATE "C",
  file_name TEXT NOT NULL,
  type TEXT NOT NULL,
  size BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  -- False while it is being received.
  is_whole BIGINT NOT NULL
);
CREATE INDEX msgr_topic_files_by_entry ON msgr_topic_files (entry);
CREATE INDEX msgr_topic_files_by_account ON msgr_topic_files (account);
CREATE INDEX msgr_topic_files_by_end ON msgr_topic_files (expires_at);
-- The bytes that each account, or without one each network, has in files, so that no upload adds up all of them. The table comes
-- behind that of files, also by its name, as copies do.
CREATE TABLE msgr_topic_files_sums (
  -- The name of the account behind an `a`, or the network behind an `n`.
  owner TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  account TEXT COLLATE "C" REFERENCES msgr_users ON DELETE CASCADE,
  site TEXT COLLATE "C",
  bytes BIGINT NOT NULL
);
CREATE INDEX msgr_topic_files_sums_by_account ON msgr_topic_files_sums (account);
CREATE INDEX msgr_topic_files_sums_by_site ON msgr_topic_files_sums (site);
CREATE FUNCTION msgr_topic_files_added() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO msgr_topic_files_sums
  VALUES (coalesce('a' || new.account, 'n' || new.network, 'n'), new.account, new.site, new.size)
  ON CONFLICT (owner) DO UPDATE SET bytes = msgr_topic_files_sums.bytes + excluded.bytes;
  RETURN NULL;
END $$;
CREATE TRIGGER msgr_topic_files_added AFTER INSERT ON msgr_topic_files
  FOR EACH ROW EXECUTE FUNCTION msgr_topic_files_added();
CREATE FUNCTION msgr_topic_files_resized() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO msgr_topic_files_sums
  VALUES (
    coalesce('a' || new.account, 'n' || new.network, 'n'), new.account, new.site,
    new.size - old.size)
  ON CONFLICT (owner) DO UPDATE SET bytes = msgr_topic_files_sums.bytes + excluded.bytes;
  RETURN NULL;
END $$;
CREATE TRIGGER msgr_topic_files_resized AFTER UPDATE OF size ON msgr_topic_files
  FOR EACH ROW EXECUTE FUNCTION msgr_topic_files_resized();
CREATE FUNCTION msgr_topic_files_removed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE msgr_topic_files_sums SET bytes = bytes - old.size
  WHERE owner = coalesce('a' || old.account, 'n' || old.network, 'n');
  DELETE FROM msgr_topic_files_sums
  WHERE owner = coalesce('a' || old.account, 'n' || old.network, 'n') AND bytes <= 0;
  RETURN NULL;
END $$;
CREATE TRIGGER msgr_topic_files_removed AFTER DELETE ON msgr_topic_files
  FOR EACH ROW EXECUTE FUNCTION msgr_topic_files_removed();
CREATE TABLE msgr_topic_file_pieces (
  name TEXT COLLATE "C" NOT NULL REFERENCES msgr_topic_files ON DELETE CASCADE,
  number BIGINT NOT NULL,
  content BYTEA NOT NULL,
  PRIMARY KEY (name, number)
);

-- What another server is to be told, so that it wakes iPhones.
CREATE TABLE msgr_topic_wakes (
  id TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  topic TEXT COLLATE "C" NOT NULL REFERENCES msgr_topics ON DELETE CASCADE,
  created_at BIGINT NOT NULL,
  due_at BIGINT NOT NULL,
  tries BIGINT NOT NULL
);
CREATE INDEX msgr_topic_wakes_by_time ON msgr_topic_wakes (due_at);
CREATE INDEX msgr_topic_wakes_by_topic ON msgr_topic_wakes (topic);

-- What the accounts' clients of Gotify's kind say of the senders of messages.
CREATE TABLE msgr_applications (
  username TEXT COLLATE "C" NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
  sender TEXT COLLATE "C" NOT NULL,
  -- The name that they show; empty for the sender's own.
  name TEXT NOT NULL,
  description TEXT NOT NULL,
  default_priority BIGINT NOT NULL,
  PRIMARY KEY (username, sender)
);
-- Further tokens of a publisher, each made for a client that shows it, and gone with that client's.
CREATE TABLE msgr_publisher_aliases (
  hash BYTEA NOT NULL PRIMARY KEY,
  publisher BYTEA NOT NULL REFERENCES msgr_publishers ON DELETE CASCADE,
  client BYTEA NOT NULL REFERENCES msgr_tokens ON DELETE CASCADE
);
CREATE INDEX msgr_publisher_aliases_by_publisher ON msgr_publisher_aliases (publisher);
CREATE INDEX msgr_publisher_aliases_by_client ON msgr_publisher_aliases (client);
-- Publications that clients have named, so that a retry is known.
CREATE TABLE msgr_publications (
  publisher BYTEA NOT NULL REFERENCES msgr_publishers ON DELETE CASCADE,
  client_id TEXT COLLATE "C" NOT NULL,
  -- SHA-256 of recipients and content.
  content BYTEA NOT NULL,
  answer BYTEA NOT NULL,
  sent_at BIGINT NOT NULL,
  PRIMARY KEY (publisher, client_id)
);
CREATE INDEX msgr_publications_by_time ON msgr_publications (sent_at);

-- What counts entries, and takes an entry's file with it.
CREATE FUNCTION msgr_topic_entries_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- Once for each topic: a row that one statement changes again and again has as many versions to go through.
  UPDATE msgr_topics SET entries = entries - g.count
  FROM (SELECT topic, count(*) AS count FROM gone_entries GROUP BY topic) g
  WHERE msgr_topics.topic = g.topic;
  DELETE FROM msgr_topic_files WHERE entry IN (SELECT id FROM gone_entries);
  RETURN NULL;
END $$;
CREATE TRIGGER msgr_topic_entries_deleted AFTER DELETE ON msgr_topic_entries
  REFERENCING OLD TABLE AS gone_entries
  FOR EACH STATEMENT EXECUTE FUNCTION msgr_topic_entries_deleted();

-- Rises whenever somebody may have lost the right to read a topic, for the streams that are open.
CREATE SEQUENCE msgr_topic_revisions;
CREATE VIEW store_topic_revision AS SELECT last_value AS revision FROM msgr_topic_revisions;
CREATE FUNCTION msgr_topic_revise() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM nextval('msgr_topic_revisions');
  RETURN NULL;
END $$;
CREATE TRIGGER msgr_topic_access_revised AFTER INSERT OR UPDATE OR DELETE ON msgr_topic_access
  FOR EACH STATEMENT EXECUTE FUNCTION msgr_topic_revise();
CREATE TRIGGER msgr_topics_removed AFTER DELETE ON msgr_topics
  FOR EACH STATEMENT EXECUTE FUNCTION msgr_topic_revise();
CREATE TRIGGER msgr_topics_revised AFTER UPDATE OF everyone, owner ON msgr_topics
  FOR EACH STATEMENT EXECUTE FUNCTION msgr_topic_revise();
CREATE TRIGGER msgr_tokens_ended AFTER DELETE ON msgr_tokens
  FOR EACH STATEMENT EXECUTE FUNCTION msgr_topic_revise();
CREATE TRIGGER msgr_publishers_ended AFTER DELETE ON msgr_publishers
  FOR EACH STATEMENT EXECUTE FUNCTION msgr_topic_revise();
CREATE TRIGGER msgr_users_revised AFTER UPDATE OF password ON msgr_users
  FOR EACH STATEMENT EXECUTE FUNCTION msgr_topic_revise();
