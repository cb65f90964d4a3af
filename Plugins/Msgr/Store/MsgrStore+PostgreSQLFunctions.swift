extension MsgrStore {
  /// Puts many messages of many users into inboxes and the outbox in one call.
  ///
  /// It takes the senders with their tokens or the hashes of their passwords, and gives a row for each message: its place, its
  /// identifier, and whether there are pushes to phones. The identifier is NULL for a message that isn't stored, as
  /// something about it is rare: the caller isn't confirmed, there is no such recipient, it blocks the sender, its inbox is
  /// full, it has a browser, or the sender keeps own copies. Those are done one by one.
  ///
  /// First it locks the recipients in one order, and then their devices; each later statement sees what was committed until
  /// then. Identifiers are taken while the recipient's row is locked, so those of an inbox become visible in their order.
  static let postgreSQLFunctions: StaticString = """
    CREATE FUNCTION awd_msgr_send_v1(
      p_tokens bytea[], p_names text[], p_passwords text[], p_recipients text[], p_texts text[],
      p_now bigint, p_first_id bigint, p_most bigint, p_expires bigint, p_held_until bigint,
      p_oldest_use bigint, p_noted_use bigint, p_pushes bigint
    ) RETURNS TABLE (place bigint, id bigint, wakes bigint) LANGUAGE plpgsql
    -- Whatever the statistics say: a call has few rows, and the tables may have many.
    SET enable_seqscan = off AS $$
    #variable_conflict use_column
    BEGIN
      PERFORM 1 FROM msgr_users WHERE username = ANY (p_recipients)
      ORDER BY username FOR NO KEY UPDATE;
      PERFORM 1 FROM msgr_devices WHERE username = ANY (p_recipients)
      ORDER BY device_id FOR NO KEY UPDATE;
      UPDATE msgr_tokens SET used_at = p_now
      WHERE hash = ANY (p_tokens) AND used_at > p_oldest_use AND used_at < p_noted_use;
      RETURN QUERY
      WITH asked AS MATERIALIZED (
        SELECT a.n, a.sender, a.recipient, a.body
        FROM unnest(p_tokens, p_names, p_passwords, p_recipients, p_texts) WITH ORDINALITY
          AS a (token, sender, password, recipient, body, n)
          LEFT JOIN msgr_tokens t
            ON t.hash = a.token AND t.username = a.sender AND t.used_at > p_oldest_use
          LEFT JOIN msgr_users u
            ON a.token IS NULL AND u.username = a.sender AND u.password = a.password
        WHERE (t.hash IS NOT NULL OR u.username IS NOT NULL)
          AND NOT EXISTS (
            SELECT 1 FROM msgr_devices d
            WHERE d.username = a.sender AND substr(d.device_id, 1, 7) = 'stream:')
          AND NOT EXISTS (
            SELECT 1 FROM msgr_blocks b WHERE b.username = a.recipient AND b.blocked = a.sender)
      ), roomy AS MATERIALIZED (
        SELECT u.username FROM msgr_users u JOIN (
          SELECT recipient, count(*) AS messages FROM asked GROUP BY recipient
        ) a ON a.recipient = u.username
        WHERE u.messages + a.messages <= p_most AND NOT EXISTS (
          SELECT 1 FROM msgr_devices d WHERE d.username = u.username AND d.endpoint IS NOT NULL)
      ), taken AS MATERIALIZED (
        SELECT a.*, row_number() OVER (PARTITION BY a.recipient ORDER BY a.n) AS k
        FROM asked a JOIN roomy r ON r.username = a.recipient
      ), users AS (
        UPDATE msgr_users u SET messages = u.messages + t.count, unread = u.unread + t.count,
          last_id = greatest(u.last_id, p_first_id - 1) + t.count
        FROM (SELECT recipient, count(*) AS count FROM taken GROUP BY recipient) t
        WHERE u.username = t.recipient
        RETURNING u.username, u.last_id - t.count AS base, u.unread - t.count AS seen
      ), stored AS MATERIALIZED (
        SELECT t.*, u.base + t.k AS id, u.seen + t.k AS badge
        FROM taken t JOIN users u ON u.username = t.recipient
      ), messages AS (
        INSERT INTO msgr_messages (recipient, id, sender, text, sent_at, is_add_request)
        SELECT recipient, id, sender, body, p_now, 0 FROM stored
      ), pushed AS MATERIALIZED (
        SELECT s.*, d.device_id, EXISTS (
          SELECT 1 FROM msgr_streams m WHERE m.device_id = d.device_id) AS is_held
        FROM stored s JOIN msgr_devices d ON d.username = s.recipient
        WHERE p_pushes = 1 AND substr(d.device_id, 1, 7) <> 'stream:'
      ), pushes AS (
        INSERT INTO push_outbox (
          device_id, message_id, apns_id, sender, text, is_add_request, badge, created_at,
          expires_at, due_at, is_next)
        SELECT device_id, id, gen_random_uuid()::text, sender, body, 0, badge, p_now, p_expires,
          CASE WHEN is_held THEN p_held_until ELSE p_now END,
          CASE WHEN k > 1 OR EXISTS (
            SELECT 1 FROM push_outbox o WHERE o.device_id = p.device_id) THEN 0 ELSE 1 END
        FROM pushed p ORDER BY n
      )
      SELECT n.n, s.id, (SELECT count(*) FROM pushed p WHERE p.n = s.n)
      FROM generate_series(1, cardinality(p_names)::bigint) AS n (n) LEFT JOIN stored s ON s.n = n.n;
    END $$;

    -- Removes pushes whose leases are over, with what is leased by whom.
    CREATE FUNCTION awd_msgr_settle_v1(p_pushes bigint[], p_owners bytea[], p_targets text[])
      RETURNS TABLE (place bigint) LANGUAGE plpgsql
    SET enable_seqscan = off AS $$
    BEGIN
      PERFORM 1 FROM msgr_devices
      WHERE device_id IN (SELECT o.device_id FROM push_outbox o WHERE o.id = ANY (p_pushes))
      ORDER BY device_id FOR NO KEY UPDATE;
      DELETE FROM push_outbox o USING unnest(p_pushes, p_owners) AS s (id, owner)
      WHERE o.id = s.id AND o.lease_owner = s.owner;
      INSERT INTO push_targets
      SELECT DISTINCT t FROM unnest(p_targets) t
      WHERE t IS NOT NULL AND NOT EXISTS (SELECT 1 FROM push_targets p WHERE p.target = t)
      ORDER BY t ON CONFLICT DO NOTHING;
      RETURN QUERY SELECT generate_series(1, cardinality(p_pushes)::bigint);
    END $$;
    """
}
