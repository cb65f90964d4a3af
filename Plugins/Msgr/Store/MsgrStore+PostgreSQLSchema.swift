extension MsgrStore {
  /// The tables of the migrations up to the eighth, which say what they hold.
  static let postgreSQLSchema: StaticString = """
    -- Updated with each message: half-filled pages let that happen in place.
    CREATE TABLE msgr_users (
      username TEXT COLLATE "C" NOT NULL PRIMARY KEY,
      password TEXT COLLATE "C" NOT NULL,
      seen_id BIGINT NOT NULL DEFAULT 0,
      created_at BIGINT NOT NULL,
      messages BIGINT NOT NULL DEFAULT 0,
      unread BIGINT NOT NULL DEFAULT 0,
      sent BIGINT NOT NULL DEFAULT 0,
      named BIGINT NOT NULL DEFAULT 0,
      last_id BIGINT NOT NULL DEFAULT 0
    ) WITH (fillfactor = 50);

    CREATE TABLE msgr_contacts (
      username TEXT COLLATE "C" NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
      friend TEXT COLLATE "C" NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
      PRIMARY KEY (username, friend)
    );
    CREATE INDEX msgr_contacts_by_friend ON msgr_contacts (friend);
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
    CREATE TABLE msgr_tokens (
      hash BYTEA NOT NULL PRIMARY KEY,
      device_id TEXT COLLATE "C" NOT NULL UNIQUE REFERENCES msgr_devices ON DELETE CASCADE,
      used_at BIGINT NOT NULL,
      username TEXT COLLATE "C" NOT NULL DEFAULT '',
      created_at BIGINT NOT NULL DEFAULT 0,
      device_name TEXT COLLATE "C" NOT NULL DEFAULT ''
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
      title TEXT COLLATE "C",
      priority BIGINT,
      link TEXT COLLATE "C",
      PRIMARY KEY (recipient, id)
    );
    CREATE INDEX msgr_messages_by_sender ON msgr_messages (recipient, sender, id);
    CREATE INDEX msgr_messages_by_time ON msgr_messages (sent_at);
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

    -- Half-filled pages, as each push is updated when it is leased.
    CREATE TABLE push_outbox (
      id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
      device_id TEXT COLLATE "C" NOT NULL REFERENCES msgr_devices ON DELETE CASCADE,
      message_id BIGINT NOT NULL,
      apns_id TEXT COLLATE "C" NOT NULL,
      sender TEXT COLLATE "C" NOT NULL,
      text TEXT COLLATE "C" NOT NULL,
      is_add_request BIGINT NOT NULL,
      badge BIGINT NOT NULL,
      created_at BIGINT NOT NULL,
      expires_at BIGINT NOT NULL,
      attempts BIGINT NOT NULL DEFAULT 0,
      due_at BIGINT NOT NULL,
      is_next BIGINT NOT NULL,
      lease_owner BYTEA,
      lease_end BIGINT NOT NULL DEFAULT 0,
      title TEXT COLLATE "C",
      priority BIGINT,
      link TEXT COLLATE "C",
      is_web BIGINT NOT NULL DEFAULT 0
    ) WITH (fillfactor = 50);
    CREATE INDEX push_outbox_by_device ON push_outbox (device_id, id);
    CREATE INDEX push_outbox_due ON push_outbox (is_web, due_at) WHERE is_next = 1;
    CREATE FUNCTION push_outbox_next() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      UPDATE push_outbox SET is_next = 1
      WHERE id = ANY (ARRAY (
        SELECT (SELECT min(id) FROM push_outbox p WHERE p.device_id = g.device_id)
        FROM gone g WHERE g.is_next = 1));
      RETURN NULL;
    END $$;
    CREATE TRIGGER push_outbox_next AFTER DELETE ON push_outbox REFERENCING OLD TABLE AS gone
      FOR EACH STATEMENT EXECUTE FUNCTION push_outbox_next();
    CREATE TABLE push_targets (target TEXT COLLATE "C" NOT NULL PRIMARY KEY);

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
    CREATE TABLE msgr_publishers (
      hash BYTEA NOT NULL PRIMARY KEY,
      username TEXT COLLATE "C" NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
      name TEXT COLLATE "C" NOT NULL,
      created_at BIGINT NOT NULL,
      used_at BIGINT NOT NULL,
      UNIQUE (username, name)
    );
    CREATE TABLE msgr_publisher_recipients (
      hash BYTEA NOT NULL REFERENCES msgr_publishers ON DELETE CASCADE,
      recipient TEXT COLLATE "C" NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
      PRIMARY KEY (hash, recipient)
    );
    CREATE INDEX msgr_publisher_recipients_by_name ON msgr_publisher_recipients (recipient);
    """
}
