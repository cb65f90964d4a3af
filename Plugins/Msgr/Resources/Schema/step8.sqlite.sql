-- Identifiers count in each inbox by itself, and conditions mean the same in PostgreSQL.

-- The last identifier in the user's log, be its message still there or not.
ALTER TABLE msgr_users ADD COLUMN last_id INTEGER NOT NULL DEFAULT 0;
UPDATE msgr_users SET last_id = (SELECT id FROM msgr_last_id);
DROP TABLE msgr_last_id;

CREATE TABLE msgr_inboxes (
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
INSERT INTO msgr_inboxes
  SELECT recipient, id, sender, text, sent_at, is_add_request, is_read, title, priority, link
  FROM msgr_messages ORDER BY id;
DROP TABLE msgr_messages;
ALTER TABLE msgr_inboxes RENAME TO msgr_messages;
CREATE INDEX msgr_messages_by_sender ON msgr_messages (recipient, sender, id);
CREATE INDEX msgr_messages_by_time ON msgr_messages (sent_at);
CREATE TRIGGER msgr_messages_uncount AFTER DELETE ON msgr_messages BEGIN
  UPDATE msgr_users SET messages = messages - 1,
    unread = unread - (old.id > seen_id AND old.is_read = 0)
  WHERE username = old.recipient;
END;

CREATE TABLE msgr_copies (
  sender TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
  id INTEGER NOT NULL,
  recipient TEXT NOT NULL,
  text TEXT NOT NULL,
  sent_at INTEGER NOT NULL,
  client_id TEXT,
  device_id TEXT,
  PRIMARY KEY (sender, id)
) STRICT;
INSERT INTO msgr_copies
  SELECT sender, id, recipient, text, sent_at, client_id, device_id
  FROM msgr_sent ORDER BY id;
DROP TABLE msgr_sent;
ALTER TABLE msgr_copies RENAME TO msgr_sent;
CREATE INDEX msgr_sent_by_time ON msgr_sent (sent_at);
CREATE TRIGGER msgr_sent_uncount AFTER DELETE ON msgr_sent BEGIN
  UPDATE msgr_users SET sent = sent - 1 WHERE username = old.sender;
END;

DROP INDEX push_outbox_due;
CREATE INDEX push_outbox_due ON push_outbox (is_web, due_at) WHERE is_next = 1;
